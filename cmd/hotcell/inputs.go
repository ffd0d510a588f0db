package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/fileset"
)

// maxInputs bounds how many files one call can be handed.
const maxInputs = 10_000

// gatherer collects the files of --input. Only sizes are read before the call starts; contents follow when the cell is
// there.
type gatherer struct {
	limit int64 // bytes of all files together
	total int64
	count int
	set   *fileset.Set
	left  []string // symbolic links and other special files that were left out
}

// inputs returns the files of the paths as they will appear below /workspace/in: a file under its own name, a folder's
// files under the folder's name. Symbolic links are not followed: one that is named itself is an error, those within a
// folder are left out and returned in left.
func inputs(paths []string, limit int64) (fsys fs.FS, left []string, err error) {
	if len(paths) == 0 {
		return nil, nil, nil
	}
	g := &gatherer{limit: limit, set: fileset.New()}
	for _, p := range paths {
		if err := g.path(p); err != nil {
			return nil, nil, fmt.Errorf("--input %s: %w", oneLine(p, 200), err)
		}
	}
	return g.set, g.left, nil
}

func (g *gatherer) path(p string) error {
	abs, err := filepath.Abs(p)
	if err != nil {
		return err
	}
	base := filepath.Base(abs)
	info, err := os.Lstat(abs)
	switch {
	case err != nil:
		return plainError(err)
	case base == "/":
		return errors.New("the root folder can't be handed in")
	case g.set.Has(base):
		return fmt.Errorf("another --input is named %s too: give one of them another name", base)
	case info.Mode().IsRegular():
		return g.file(base, abs, info)
	case info.IsDir():
		return g.folder(base, abs)
	case info.Mode()&fs.ModeSymlink != 0:
		return errors.New("is a symbolic link, which is not followed: name what it points to")
	}
	return errors.New("is neither a file nor a folder")
}

func (g *gatherer) folder(base, dir string) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			g.left = append(g.left, p)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return g.file(path.Join(base, filepath.ToSlash(rel)), p, info)
	})
}

func (g *gatherer) file(name, host string, info fs.FileInfo) error {
	if g.count++; g.count > maxInputs {
		return fmt.Errorf("more than %d files: hand in an archive instead", maxInputs)
	}
	if g.total += info.Size(); g.total > g.limit {
		return fmt.Errorf("more than %s in all, which is what the skill's workspace holds (limits.workspace)", size(g.limit))
	}
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return fmt.Errorf("%q is not a UTF-8 file name", name)
	}
	open := func() (io.ReadCloser, error) { return openRegular(host) }
	f, err := open() // say now that a file can't be read
	if err != nil {
		return fmt.Errorf("%s: %w", name, plainError(err))
	}
	if err := f.Close(); err != nil {
		return err
	}
	if !g.set.Add(name, fileset.Entry{Size: info.Size(), Mode: info.Mode(), Open: open}) {
		return fmt.Errorf("%s is there twice", name)
	}
	return nil
}

// openRegular opens a file that may have been replaced since it was listed: by a link, or by a pipe that would block.
func openRegular(host string) (io.ReadCloser, error) {
	f, err := os.OpenFile(host, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a regular file any more")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// plainError is the reason of a path error alone: "no such file or directory".
func plainError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
