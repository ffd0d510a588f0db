package demands

import (
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Command takes what is run, and where.
func (l *Left) Command() (args []string, dir string, err error) {
	p := &l.Process
	if len(p.Args) == 0 || p.Args[0] == "" {
		return nil, "", unsupported("process.args: is empty, and the image's own command is never run")
	}
	if !CleanAbs(p.Cwd) {
		return nil, "", unsupported("process.cwd %q: expected a clean absolute path", p.Cwd)
	}
	args, dir = p.Args, p.Cwd
	p.Args, p.Cwd = nil, ""
	return args, dir, nil
}

// Environment takes the variables, and says which there are.
func (l *Left) Environment() (env []string, have map[string]bool, err error) {
	have = make(map[string]bool)
	for _, entry := range l.Process.Env {
		key, _, ok := strings.Cut(entry, "=")
		if !ok || key == "" || strings.ContainsRune(entry, 0) {
			return nil, nil, unsupported("process.env %q: expected KEY=VALUE", key)
		}
		if have[key] {
			return nil, nil, unsupported("process.env: %s is there twice", key)
		}
		have[key] = true
	}
	env = l.Process.Env
	l.Process.Env = nil
	return env, have, nil
}

// EnvironmentWithHome is for engines that would invent a HOME.
func (l *Left) EnvironmentWithHome() (env []string, have map[string]bool, err error) {
	env, have, err = l.Environment()
	if err == nil && !have["HOME"] {
		err = unsupported("process.env: HOME must be set, or the runtime invents one")
	}
	return env, have, err
}

// User takes who the cell is: a number, so that no file of the image decides that, and never root's.
func (l *Left) User() (uid, gid uint32, err error) {
	u := &l.Process.User
	if u.UID == 0 || u.GID == 0 {
		return 0, 0, unsupported("process.user %d:%d: root is never used", u.UID, u.GID)
	}
	uid, gid = u.UID, u.GID
	u.UID, u.GID = 0, 0
	return uid, gid, nil
}

// Privileges makes sure that no new ones are to be had, and takes how early the kernel ends the cell where memory runs out:
// nil where nothing is said of that.
func (l *Left) Privileges() (oomScore *int, err error) {
	p := &l.Process
	if !p.NoNewPrivileges {
		return nil, unsupported("process.noNewPrivileges: must be true")
	}
	oomScore = p.OOMScoreAdj
	p.NoNewPrivileges, p.OOMScoreAdj = false, nil
	return oomScore, nil
}

// Seccomp takes the profile, which is always there.
func (l *Left) Seccomp() (*specs.LinuxSeccomp, error) {
	s := l.Linux.Seccomp
	switch {
	case s == nil || s.DefaultAction == "":
		return nil, unsupported("linux.seccomp: must be set with a default action")
	case len(s.Flags) > 0 || s.ListenerPath != "" || s.ListenerMetadata != "":
		return nil, unsupported("linux.seccomp: flags and listeners")
	}
	l.Linux.Seccomp = nil
	return s, nil
}
