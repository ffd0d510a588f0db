package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/doctor"
	"github.com/hotcell/hotcell/internal/testutil"
)

// TestWithoutAnEngine: an image that was saved from an engine serves where none answers.
func TestWithoutAnEngine(t *testing.T) {
	testutil.Require(t, "root")
	testutil.Require(t, "runc")
	bin := binary(t)
	archive := filepath.Join(t.TempDir(), "python.tar")
	if out, err := exec.Command("docker", "save", "-o", archive, "hotcell/python:3").CombinedOutput(); err != nil {
		t.Fatalf("docker save: %v %s", err, out)
	}
	data := filepath.Join(t.TempDir(), "data")
	run := func(args ...string) (stdout, stderr string, err error) {
		cmd := exec.CommandContext(t.Context(), bin, append(args, "--data-dir", data)...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "DOCKER_HOST=unix:///nowhere.sock")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err = cmd.Run()
		return out.String(), errs.String(), err
	}
	if _, stderr, err := run("images", "import", archive); err != nil {
		t.Fatalf("import: %v %s", err, stderr)
	}
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"by name": {[]string{"--driver", "oci"}, ""},
		"auto":    {nil, "no engine answers at unix:///nowhere.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := run(append([]string{"run", "code-review", "--arg", "code=eval(x)"}, tt.args...)...)
			if err != nil || !strings.Contains(stdout, "eval") || !strings.Contains(stderr, tt.says) {
				t.Errorf("%v\n%s%s", err, stdout, stderr)
			}
		})
	}
	for _, args := range [][]string{{"--driver", "oci"}, nil} {
		stdout, stderr, err := run(append([]string{"doctor", "--json"}, args...)...)
		var report doctor.Report
		if err := errors.Join(err, json.Unmarshal([]byte(stdout), &report)); err != nil || stderr != "" {
			t.Fatalf("doctor %v: %v\n%s%s", args, err, stdout, stderr)
		}
		for _, id := range []string{"oci", "platform", "cell", "cell-user", "cell-seccomp", "cell-files", "cell-network", "cell-limits", "cell-calls", "controls"} {
			if c := report.Check(id); c == nil || c.Level != doctor.OK {
				t.Errorf("doctor %v: %s: %+v", args, id, c)
			}
		}
	}
	if left, err := filepath.Glob("/run/hotcell/oci/*/skill-*"); err != nil || len(left) > 0 {
		for _, dir := range left {
			if text, err := os.ReadFile(filepath.Join(dir, "config.json")); err == nil && strings.Contains(string(text), data) {
				t.Errorf("left: %s", dir)
			}
		}
	}
}
