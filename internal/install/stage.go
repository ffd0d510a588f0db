package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// stage is a folder in which something is made. It is locked as long as its process works on it: another one's is only
// removed when that process is gone.
type stage struct {
	dir  string
	held *os.File
}

func (in *Installer) stages() string { return filepath.Join(in.dir, ".staging") }

func (in *Installer) stage() (*stage, error) {
	if err := os.MkdirAll(in.stages(), 0o700); err != nil {
		return nil, err
	}
	for range 100 {
		dir, err := os.MkdirTemp(in.stages(), "")
		if err != nil {
			return nil, err
		}
		held, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a sweep came between
		}
		if err != nil {
			return nil, err
		}
		ok, err := tryLock(held)
		if err == nil && ok && same(held, dir) {
			s := &stage{dir, held}
			return s, os.Mkdir(s.files(""), 0o700)
		}
		if err := errors.Join(err, held.Close()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("folder %s: new folders there are removed at once", in.stages())
}

// same reports whether the folder is still there.
func same(f *os.File, path string) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(here, there)
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// files is where bundles are made: in a folder of their own, since a skill may have the name of any other file here.
func (s *stage) files(name string) string { return filepath.Join(s.dir, "files", name) }

func (s *stage) remove() error { return errors.Join(os.RemoveAll(s.dir), s.held.Close()) }

// sweep removes what processes left that are gone.
func (in *Installer) sweep() error {
	entries, err := os.ReadDir(in.stages())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		f, err := os.Open(filepath.Join(in.stages(), e.Name()))
		if err != nil {
			continue // it is being removed
		}
		ok, err := tryLock(f)
		if ok {
			err = os.RemoveAll(f.Name())
		}
		errs = append(errs, err, f.Close())
	}
	return errors.Join(errs...)
}

// spool writes an upload to disk.
func (s *stage) spool(ctx context.Context, kind string, upload io.Reader) (a archive, done func(), err error) {
	f, err := os.OpenFile(s.path("upload"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return archive{}, nil, err
	}
	n, err := io.Copy(f, io.LimitReader(stoppable{ctx, upload}, maxPacked+1))
	if err != nil {
		return archive{}, nil, errors.Join(err, f.Close())
	}
	return archive{f, kind, n}, func() { _ = f.Close() }, nil
}
