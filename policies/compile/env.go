package compile

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/wall"
)

// What an image may bring as environment.
const (
	maxEnvEntries = 256
	maxEnvBytes   = 64 << 10 // of all entries together
)

// defaultPath is where programs are looked for when the image does not say.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// imageEnv returns the entries of an image's environment that a cell may have. An entry that is no NAME=VALUE is left
// out; of entries with the same name the last one counts.
func imageEnv(entries []string) (map[string]string, error) {
	size := 0
	for _, entry := range entries {
		size += len(entry)
	}
	if len(entries) > maxEnvEntries || size > maxEnvBytes {
		return nil, fmt.Errorf("image environment: %d entries of %d bytes, expected at most %d of %d",
			len(entries), size, maxEnvEntries, maxEnvBytes)
	}
	env := map[string]string{}
	for _, entry := range entries {
		if name, value, ok := splitEnv(entry); ok && !reserved(name) {
			env[name] = value
		}
	}
	return env, nil
}

// extraEnv returns the entries of a workload, which must all be well-formed.
func extraEnv(entries []string) (map[string]string, error) {
	env := map[string]string{}
	for _, entry := range entries {
		name, value, ok := splitEnv(entry)
		if !ok {
			return nil, fmt.Errorf("environment entry %.64q: expected NAME=VALUE in UTF-8", entry)
		}
		env[name] = value
	}
	return env, nil
}

// splitEnv takes an entry apart. The value may be empty, but neither part may hold what exec or JSON cannot carry.
func splitEnv(entry string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(entry, "=")
	ok = ok && envName(name) && utf8.ValidString(value) && !strings.Contains(value, "\x00")
	return name, value, ok
}

func envName(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	return name != "" && strings.Trim(name, letters+"0123456789") == "" && strings.ContainsAny(name[:1], letters)
}

// reserved reports whether a name is kept from images: ours, the engine's, the dynamic linker's, and the knobs of the Go
// runtime, with which an image could steer the runner.
func reserved(name string) bool {
	for _, prefix := range []string{"HOTCELL_", "DOCKER_", "LD_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"GOCOVERDIR", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GORACE", "GOTRACEBACK", wall.EnvCorrelate,
		wall.EnvTraceParent, wall.EnvTraceState,
	}, name)
}

// withLibrary makes Python find hotcell's module, after what the image brings. Only a cell that starts a program of the
// skill's has it.
func withLibrary(env map[string]string, w Workload) {
	if w.Frames || w.Engine.FS != nil {
		return
	}
	if own := env[pythonPath]; own != "" {
		env[pythonPath] = own + ":" + wall.DirLibrary
		return
	}
	env[pythonPath] = wall.DirLibrary
}

const pythonPath = "PYTHONPATH"

// withFixed adds what every cell has, whatever the image says, and returns the entries sorted.
func withFixed(env map[string]string) []string {
	for name, value := range map[string]string{
		"HOME":                    wall.DirWorkspace,
		"TMPDIR":                  wall.DirWorkspace,
		"PYTHONUNBUFFERED":        "1", // events leave as they are printed
		"PYTHONDONTWRITEBYTECODE": "1", // the bundle is read-only
		wall.EnvRequest:           wall.RequestPath,
		wall.EnvOut:               wall.DirOut,
		wall.EnvInput:             wall.DirInput,
	} {
		env[name] = value
	}
	for name, value := range map[string]string{"PATH": defaultPath, "LANG": "C.UTF-8"} {
		if env[name] == "" {
			env[name] = value
		}
	}
	entries := make([]string, 0, len(env))
	for name, value := range env {
		entries = append(entries, name+"="+value)
	}
	slices.Sort(entries)
	return entries
}
