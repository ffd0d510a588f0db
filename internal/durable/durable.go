package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Rename is [os.Rename] that returns once the new name is on the disk. Where that can't be made sure of, the error says so, though
// the file has its new name.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return Folder(filepath.Dir(to))
}

// Link is [os.Link] in the same way.
func Link(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return Folder(filepath.Dir(to))
}

// Remove is [os.Remove] in the same way: what is gone stays so.
func Remove(name string) error {
	if err := os.Remove(name); err != nil {
		return err
	}
	return Folder(filepath.Dir(name))
}

// Folder has the names in a folder written to the disk. Some file systems, such as those of a network or in user space, write no
// folder at anybody's wish: there it does nothing, since no other try and no other program could do more.
func Folder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
