package docker

import (
	"archive/tar"
	"io"
	"io/fs"
	"time"
)

// treeTime is the time of all files in a volume, so that the same content is the same volume.
var treeTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// writeTree writes a tree as a tar archive: regular files and directories, owned by root, readable by all. It refuses
// anything else.
func writeTree(w io.Writer, tree fs.FS) error {
	tw := tar.NewWriter(w)
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			return tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: path + "/", Mode: 0o755, ModTime: treeTime})
		case entry.Type().IsRegular():
			return writeFile(tw, tree, path)
		}
		return unsupported("file %s: mode %v: only regular files and directories are carried", path, entry.Type())
	})
	if err != nil {
		return err
	}
	return tw.Close()
}

func writeFile(tw *tar.Writer, tree fs.FS, path string) error {
	f, err := tree.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: fileMode(info.Mode()), Size: info.Size(), ModTime: treeTime}
	if err := tw.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(tw, f)
	return err
}

// fileMode keeps the permission bits and lets the cell's user, who is neither owner nor group, read the file, and run it
// if anyone may. Nobody but root may write.
func fileMode(m fs.FileMode) int64 {
	mode := m.Perm()&^0o022 | 0o444
	if mode&0o111 != 0 {
		mode |= 0o111
	}
	return int64(mode)
}
