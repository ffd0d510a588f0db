package oci

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/sandbox"
)

// point is a mount point in a root: a folder with the mode that the mount has. Some runtimes give a mount the mode of the
// folder that it covers.
type point struct {
	path string
	mode fs.FileMode
}

// root returns the tree of an image with mount points in it. A runtime would make them itself, in the tree that all cells
// share, and leave them there for cells that have none.
func (d *Driver) root(image string, points []point) (string, error) {
	source, err := d.rootfs(image)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w: %w", err, sandbox.ErrNotFound)
		}
		return "", err
	}
	slices.SortFunc(points, func(a, b point) int { return strings.Compare(a.path, b.path) })
	key := sha256.New()
	fmt.Fprintln(key, "1", image)
	for _, p := range points {
		fmt.Fprintf(key, "%o %s\n", p.mode, p.path)
	}
	return d.cache.ensure(kindRoot, hex.EncodeToString(key.Sum(nil)), func(dir string) error {
		if err := link(source, dir); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("image %s was removed meanwhile: %w", image, sandbox.ErrNotFound)
			}
			return err
		}
		for _, p := range points {
			if err := p.make(dir); err != nil {
				return err
			}
		}
		return forget(dir)
	})
}

// forget empties the files that tell of the host where an image was made. Engines do the same.
func forget(dir string) error {
	etc := filepath.Join(dir, "etc")
	if info, err := os.Lstat(etc); err != nil || !info.IsDir() {
		return nil
	}
	for _, name := range []string{"hostname", "hosts", "resolv.conf"} {
		file := filepath.Join(etc, name)
		if err := os.RemoveAll(file); err != nil {
			return err
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return err
		}
		if err := os.Chmod(file, 0o644); err != nil { // whatever the umask
			return err
		}
	}
	return nil
}

// link makes folders of its own and files that are those of another tree.
func link(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		switch {
		case entry.Type().IsRegular():
			return os.Link(path, target)
		case entry.Type() == fs.ModeSymlink:
			text, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(text, target)
		case !entry.IsDir():
			return fmt.Errorf("%s: an image's tree has files, folders and links alone", path)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if err := os.Mkdir(target, 0o700); err != nil {
			return err
		}
		return os.Chmod(target, info.Mode().Perm())
	})
}

// make makes the mount point in a root that is nobody's yet. A link there or on the way is refused, for what is mounted
// would appear elsewhere, except in the place of /proc, /sys or /dev, where nothing of an image counts; a file on the way is
// refused too, and one in its very place removed.
func (p point) make(dir string) error {
	at := dir
	parts := strings.Split(strings.TrimPrefix(p.path, "/"), "/")
	for i, part := range parts {
		at = filepath.Join(at, part)
		last := i == len(parts)-1
		info, err := os.Lstat(at)
		switch {
		case err == nil && info.IsDir():
			continue
		case err == nil && info.Mode().Type() == fs.ModeSymlink && !kernels(p.path+"/"):
			return unsupported("mount %s: the image has a symbolic link at %s", p.path, strings.TrimPrefix(at, dir))
		case err == nil && !last:
			return unsupported("mount %s: in the image, %s is no folder", p.path, strings.TrimPrefix(at, dir))
		case err == nil:
			err = os.Remove(at)
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		}
		if err == nil {
			err = os.Mkdir(at, 0o755)
		}
		if err == nil {
			err = os.Chmod(at, 0o755) // whatever the umask
		}
		if err != nil {
			return err
		}
	}
	return os.Chmod(at, p.mode)
}
