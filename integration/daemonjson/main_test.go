package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const runsc = `{
  "runtimes": {
    "runsc": {
      "path": "/bin/runsc",
      "runtimeArgs": [
        "--one",
        "--two=2"
      ]
    }
  }
}
`

const others = `{
  "a": 1.50,
  "runtimes": {
    "crun": {
      "path": "crun"
    },
    "runsc": {
      "path": "/bin/runsc",
      "runtimeArgs": [
        "--one",
        "--two=2"
      ]
    }
  },
  "z": null
}
`

func TestRegister(t *testing.T) {
	tests := []struct {
		name, before, after, says, err string
	}{
		{name: "empty", before: " \n", after: runsc, says: "changed\n"},
		{name: "again", before: runsc, after: runsc, says: "unchanged\n"},
		{name: "same in another form", before: `{"runtimes":{"runsc":{"runtimeArgs":["--one","--two=2"],"path":"/bin/runsc"}}}`,
			after: `{"runtimes":{"runsc":{"runtimeArgs":["--one","--two=2"],"path":"/bin/runsc"}}}`, says: "unchanged\n"},
		{name: "others stay", before: `{"a": 1.50, "runtimes": {"crun": {"path": "crun"}, "runsc": {"path": "/old"}}, "z": null}`, after: others, says: "changed\n"},
		{name: "no JSON", before: "{\"a\": 1,}", err: "expected a JSON object"},
		{name: "null", before: "null", err: "expected a JSON object: it is null"},
		{name: "a list", before: "[]", err: "expected a JSON object"},
		{name: "runtimes is text", before: `{"runtimes": "x"}`, err: "runtimes: expected a JSON object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "daemon.json")
			write(t, file, tt.before)
			var out strings.Builder
			err := run([]string{"-file", file, "runsc", "/bin/runsc", "--one", "--two=2"}, &out, &out)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), file) {
					t.Errorf("error %v, want %q in it", err, tt.err)
				}
				tt.after = tt.before
			} else if err != nil {
				t.Error(err)
			}
			if got := read(t, file); got != tt.after {
				t.Errorf("the file is\n%s\nwant\n%s", got, tt.after)
			}
			if out.String() != tt.says {
				t.Errorf("said %q, want %q", out.String(), tt.says)
			}
			alone(t, filepath.Dir(file))
		})
	}
}

// A file that is missing is made, with its folder; the mode of one that is there, and a link to it, stay.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "docker", "daemon.json")
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if changed, err := register(file, "x", oci{Path: "/x"}); err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := register(link, "y", oci{Path: "/y"}); err != nil || !changed {
		t.Fatalf("through a link: changed %v, %v", changed, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if target, err := os.Readlink(link); err != nil || target != file {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if got := read(t, file); !strings.Contains(got, `"x"`) || !strings.Contains(got, `"y"`) {
		t.Errorf("the file is %s", got)
	}
	alone(t, filepath.Dir(file))
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"name"}, {"-nonsense"}} {
		var out strings.Builder
		if err := run(args, &out, &out); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// alone: no half-written file lies beside.
func alone(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("in the folder: %v, %v", entries, err)
	}
}
