package oci

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hotcell/hotcell/sandbox"
)

// tree returns the folder of a file tree.
func (d *Driver) tree(t sandbox.Tree) (string, error) {
	kind := kindTree
	if t.Name == sandbox.TreeCustom {
		kind = kindCustom
	}
	return d.cache.ensure(kind, t.Digest, func(dir string) error { return writeTree(dir, t.FS) })
}

// writeTree writes a tree into a folder: regular files and folders, readable by all. It refuses anything else.
func writeTree(dir string, tree fs.FS) error {
	return fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		switch {
		case path == ".":
			return nil
		case entry.IsDir():
			if err := os.Mkdir(to, 0o755); err != nil {
				return err
			}
			return os.Chmod(to, 0o755) // whatever the umask
		case entry.Type().IsRegular():
			return writeFile(to, tree, path)
		}
		return unsupported("file %s: mode %v: only regular files and directories are carried", path, entry.Type())
	})
}

func writeFile(to string, tree fs.FS, path string) error {
	from, err := tree.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // read only
	info, err := from.Stat()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Chmod(fileMode(info.Mode())), f.Sync(), f.Close())
}

// fileMode keeps the permission bits and lets the cell's user, who is neither owner nor group, read the file, and run it
// if anyone may. Nobody but root may write.
func fileMode(m fs.FileMode) fs.FileMode {
	mode := m.Perm()&^0o022 | 0o444
	if mode&0o111 != 0 {
		mode |= 0o111
	}
	return mode
}
