package fleet

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Ran is what a command said and how it ended.
type Ran struct {
	Stdout, Stderr string
	Exit           int
}

// Command runs the binary in an empty folder with a data folder of its own.
func Command(t *testing.T, bin, stdin string, args ...string) Ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOTCELL__DATA_DIR="+filepath.Join(dir, "data"), "HOTCELL__SOCKET="+filepath.Join(dir, "s"))
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", args, err)
	}
	return Ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// Soaking reports whether times are judged: on a machine that does nothing else.
func Soaking() bool { return os.Getenv("HOTCELL_SOAK_CALLS") != "" }

// Number is a count from the environment, or otherwise where there is none.
func Number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: expected a number above 0", name, text)
	}
	return n
}

// Patience is a limit where times are judged, and much more elsewhere, where only the end counts.
func Patience(limit time.Duration) time.Duration {
	if Soaking() {
		return limit
	}
	return max(10*limit, time.Minute)
}

// Skills writes skills of one script each below a new folder, with a skill.yaml that is the same for all; "": none.
func Skills(t *testing.T, scripts map[string]string, manifest string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		files := map[string]string{"SKILL.md": "---\nname: " + name + "\ndescription: for tests\n---\n", "main.py": script}
		if manifest != "" {
			files["skill.yaml"] = manifest
		}
		for file, text := range files {
			path := filepath.Join(dir, name, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}
