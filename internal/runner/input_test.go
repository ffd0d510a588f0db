package runner

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hotcell/hotcell/internal/wall"
)

func file(path string, mode uint32, data string, final bool) wall.File {
	return wall.File{Type: wall.TypeFile, Path: path, Mode: mode, Data: []byte(data), Final: final}
}

func TestInputFiles(t *testing.T) {
	c := boot(t, `cat in/a/b.txt; cat in/empty`)
	o := c.play(file("a/b.txt", 0o644, "hel", false), file("a/b.txt", 0o644, "lo", true), file("empty", 0o7777, "", true), file("none", 0, "", true))
	if string(o.result.Data) != `"hello"` {
		t.Errorf("data = %s", o.result.Data)
	}
	for name, want := range map[string]os.FileMode{"a": 0o700 | os.ModeDir, "a/b.txt": 0o644, "empty": 0o755, "none": 0o600} {
		if fi, err := os.Stat(filepath.Join(c.root, wall.DirInput, name)); err != nil || fi.Mode() != want {
			t.Errorf("%s: %v, %v, want mode %v", name, fi.Mode(), err, want)
		}
	}
}

func TestBadInputFilesStopTheStart(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []any
		want  string
	}{
		{"twice", []any{file("a", 0, "", true), file("a", 0, "", true)}, `input file "a" is there twice`},
		{"a file where a directory must be", []any{file("a", 0, "", true), file("a/b", 0, "", true)}, `input file "a/b"`},
		{"no end", []any{file("a", 0, "x", false)}, `input file "a" has no final piece`},
		{"mixed", []any{file("a", 0, "x", false), file("b", 0, "x", true)}, `input file "b" begins before "a" has ended`},
		{"out of the directory", []any{file("../a", 0, "", true)}, `path: "../a" is not a plain relative path`},
		{"over a link", []any{file("link", 0, "x", true)}, `input file "link" is there twice`},
		{"through a link", []any{file("dir/x", 0, "x", true)}, `input file "dir/x"`},
		{"a line too long", []any{`{"type":"cell/file","path":"` + strings.Repeat("x", wall.MaxLine) + `"}`}, `a line of type "cell/file" is`},
		{"a bad secret", []any{`{"type":"cell/lease","secrets":{"a/b":"x"}}`}, "the lease is malformed: secrets: bad name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := boot(t, `echo never`)
			in := filepath.Join(c.root, wall.DirInput)
			outside := filepath.Join(c.root, "outside")
			for _, err := range []error{
				os.Mkdir(in, 0o700), os.Mkdir(outside, 0o700),
				os.Symlink(filepath.Join(outside, "file"), filepath.Join(in, "link")), os.Symlink(outside, filepath.Join(in, "dir")),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			o := c.play(tt.lines...)
			if !strings.Contains(o.exit.StartError, tt.want) || o.exit.ExitCode != cannotStart || len(o.lines) > 0 {
				t.Errorf("exit = %+v, want %q", o.exit, tt.want)
			}
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("a link was followed: %v", left)
			}
		})
	}
}

func TestAFullWorkspaceIsPlain(t *testing.T) {
	err := inputError("a", &os.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC})
	if want := "input files do not fit in /workspace"; !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
}

func TestSecrets(t *testing.T) {
	c := boot(t, `cat $ROOT/run/hotcell/secrets/API_KEY; env | grep -c s3cret`)
	o := c.play(wall.Lease{Type: wall.TypeLease, Secrets: map[string]string{"API_KEY": "s3cret"}})
	if got := o.logs(t); len(got) != 1 || got[0] != "info: s3cret0" {
		t.Errorf("logs = %q", got)
	}
	if fi, err := os.Stat(filepath.Join(c.root, wall.DirSecrets, "API_KEY")); err != nil || fi.Mode() != 0o400 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
}
