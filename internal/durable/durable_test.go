package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hotcell/hotcell/internal/testutil"
)

func TestNames(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	if err := os.WriteFile(a, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what string
		err  error
		want error
	}{
		{"rename", Rename(a, b), nil},
		{"rename what is gone", Rename(a, b), fs.ErrNotExist},
		{"link", Link(b, c), nil},
		{"link to what is there", Link(b, c), fs.ErrExist},
		{"remove", Remove(b), nil},
		{"remove what is gone", Remove(b), fs.ErrNotExist},
		{"a folder that is not there", Folder(a), fs.ErrNotExist},
	} {
		if !errors.Is(step.err, step.want) {
			t.Errorf("%s: %v, want %v", step.what, step.err, step.want)
		}
	}
	if text, err := os.ReadFile(c); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
}

// A file system that can't write folders at once, as that of processes can't, is no reason to refuse work.
func TestFolderThatCannot(t *testing.T) {
	testutil.Require(t, "linux")
	const dir = "/proc/self"
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); !errors.Is(err, syscall.EINVAL) {
		t.Fatalf("it can write folders at once: %v", err)
	}
	if err := Folder(dir); err != nil {
		t.Error(err)
	}
}
