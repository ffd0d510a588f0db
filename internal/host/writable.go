package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// probeName is always the same: a process that is killed between two steps leaves one empty file, however often.
const probeName = ".hotcell-write"

// Writable makes sure that files can be made in dir, by making one.
func Writable(dir string) error {
	name := filepath.Join(dir, probeName)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Remove(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // where it is gone already, another process has looked at the same time
	}
	return nil
}
