package gate

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Where the runner's image has what it brings into cells.
const (
	ImageProgram = "/hotcell-runner" // the program itself
	ImageTrees   = "/trees"          // trees, each under NAME-DIGEST
)

// The kinds of sources of [Unpack].
const (
	FromSelf  = "self"  // this program, as "runner"
	FromImage = "image" // a tree of the runner's image, by NAME-DIGEST
	FromParts = "parts" // an archive in parts: a folder whose files, in order, are a tar under gzip
)

// maxUnpacked bounds an archive's content.
const maxUnpacked = 256 << 20

// Unpack fills folders: each job is KIND=SOURCE=FOLDER. It returns the exit code; why one fails goes to errs.
func Unpack(jobs []string, errs io.Writer) int {
	for _, job := range jobs {
		if err := unpack(job); err != nil {
			fmt.Fprintf(errs, "hotcell: %v\n", err)
			return 1
		}
	}
	return 0
}

func unpack(job string) error {
	parts := strings.SplitN(job, "=", 3)
	if len(parts) != 3 {
		return fmt.Errorf("%q: expected KIND=SOURCE=FOLDER", job)
	}
	source, target := parts[1], parts[2]
	switch parts[0] {
	case FromSelf:
		self, err := os.Open("/proc/self/exe")
		if err != nil {
			return err
		}
		defer self.Close()
		return writeFile(filepath.Join(target, "runner"), 0o755, self)
	case FromImage:
		tree := path.Join(ImageTrees, path.Base(source))
		if _, err := os.Stat(tree); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the runner's image has no tree %s: it is of another hotcell; load the one that this hotcell makes (hotcell images runner)", source)
		}
		return copyTree(tree, target)
	case FromParts:
		return joinParts(source, target)
	}
	return fmt.Errorf("%q: unknown kind", job)
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil || rel == "." {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return writeFile(target, info.Mode(), f)
	})
}

// readable is a file's mode for the cell's user, who is not its owner: to read, and to run where anybody may.
func readable(mode fs.FileMode) fs.FileMode {
	if mode&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

// writeFile makes a new file.
func writeFile(name string, mode fs.FileMode, r io.Reader) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, readable(mode))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// joinParts unpacks an archive whose parts are the files of a folder. A kubelet shows them as links, and has files of its
// own there, which begin with two dots.
func joinParts(source, target string) error {
	entries, err := os.ReadDir(source)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	var parts []io.Reader
	for _, name := range names {
		f, err := os.Open(filepath.Join(source, name))
		if err != nil {
			return err
		}
		defer f.Close()
		parts = append(parts, f)
	}
	zr, err := gzip.NewReader(io.MultiReader(parts...))
	if err != nil {
		return fmt.Errorf("the %d parts of a tree: %w", len(parts), err)
	}
	return extract(tar.NewReader(io.LimitReader(zr, maxUnpacked)), target)
}

func extract(tr *tar.Reader, target string) error {
	root, err := os.OpenRoot(target)
	if err != nil {
		return err
	}
	defer root.Close()
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(h.Name)
		if h.Typeflag == tar.TypeDir {
			if err := root.MkdirAll(name, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := extractFile(root, name, h, tr); err != nil {
			return err
		}
	}
}

func extractFile(root *os.Root, name string, h *tar.Header, r io.Reader) error {
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("%s is neither a file nor a folder", name)
	}
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, readable(fs.FileMode(h.Mode)))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
