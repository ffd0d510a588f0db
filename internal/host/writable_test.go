package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Looking whether a folder can be written leaves nothing, whoever else looks; a killed one leaves one file, not many.
func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, probeName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if err := Writable(dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.Symlink(victim, filepath.Join(dir, probeName)); err != nil {
		t.Fatal(err)
	}
	if err := Writable(dir); err == nil {
		t.Error("a link was followed")
	}
	if _, err := os.Lstat(victim); !os.IsNotExist(err) {
		t.Errorf("a file was made behind a link: %v", err)
	}
	if err := Writable(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("no folder: %v, want %v", err, fs.ErrNotExist)
	}
}
