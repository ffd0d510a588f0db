package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestInputs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"data.csv": "a,b\n", "in/one.txt": "1", "in/deep/two.txt": "22", "in/.hidden": "h", "other/data.csv": "x", "empty": "",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "data.csv", "in/passwd": "/etc/passwd", "in/up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		paths []string
		limit int64
		want  []string
		left  int
		err   string
	}{
		{name: "a file", paths: []string{"data.csv"}, want: []string{"data.csv"}},
		{name: "an empty file", paths: []string{"empty"}, want: []string{"empty"}},
		{name: "a folder", paths: []string{"in"}, want: []string{"in/.hidden", "in/deep/two.txt", "in/one.txt"}, left: 2},
		{name: "a folder with a slash", paths: []string{"in/"}, want: []string{"in/.hidden", "in/deep/two.txt", "in/one.txt"}, left: 2},
		{name: "both", paths: []string{"in/deep", "data.csv"}, want: []string{"data.csv", "deep/two.txt"}},
		{name: "the same name", paths: []string{"data.csv", "other/data.csv"}, err: "another --input is named data.csv too"},
		{name: "absent", paths: []string{"no"}, err: "no such file or directory"},
		{name: "a link", paths: []string{"link"}, err: "is a symbolic link"},
		{name: "a pipe", paths: []string{"pipe"}, err: "is neither a file nor a folder"},
		{name: "too much", paths: []string{"in"}, limit: 3, err: "more than 3 B in all"},
		{name: "the root", paths: []string{"/"}, err: "the root folder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(dir)
			limit := tt.limit
			if limit == 0 {
				limit = 1000
			}
			fsys, left, err := inputs(tt.paths, limit)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error = %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(left) != tt.left {
				t.Errorf("left out %v, want %d", left, tt.left)
			}
			var got []string
			if err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					got = append(got, p)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if err := fstest.TestFS(fsys, got...); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInputThatBecomesALink(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	fsys, _, err := inputs([]string{"a"}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", "a"); err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(fsys, "a"); err == nil {
		t.Errorf("the link was followed: %q", data)
	}
}

func TestInputThatGrows(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a", []byte("xx"), 0o600); err != nil {
		t.Fatal(err)
	}
	fsys, _, err := inputs([]string{"a"}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("a", []byte(strings.Repeat("y", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(fsys, "a"); err != nil || string(data) != "yy" {
		t.Errorf("read %q, %v: want what was announced", data, err)
	}
}
