package durable

import (
	"errors"
	"os"
	"path/filepath"
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

// Folder has the names in a folder written to the disk.
func Folder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
