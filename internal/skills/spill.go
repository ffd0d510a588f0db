package skills

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Copies of large bundles: so many bytes and files of a library, and no more.
const (
	spillAll   = 512 << 20
	spillFiles = 128
)

// spill copies the contents of a bundle's files into one file of the folder dir, which has no name any more: it is gone with
// the last call that uses the bundle, and with the process, however that ends. From then on the bundle is what it was,
// whatever becomes of it on disk.
func (v *view) spill(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".bundle-")
	if err != nil {
		return err
	}
	if err := errors.Join(os.Remove(f.Name()), v.copyTo(f)); err != nil {
		return errors.Join(err, f.Close())
	}
	v.copied = f
	return nil
}

func (v *view) copyTo(f *os.File) error {
	var at int64
	for name, file := range v.files {
		in, err := v.Open(name) // which makes sure that it is still what was read
		if err != nil {
			return err
		}
		n, err := io.Copy(f, in)
		if err := errors.Join(err, in.Close()); err != nil {
			return err
		}
		file.at = at
		v.files[name] = file
		at += n
	}
	return nil
}

// spill makes sure of a bundle that does not fit into memory, where there is room on disk. Where there is none, calls of an
// earlier version may fail once its files have changed.
func (l *Library) spill(s *Skill) {
	v, ok := s.Bundle.FS.(*view)
	if !ok || v.kept || l.spillTo == "" || s.Bundle.Digest == "" || l.spills >= spillFiles || l.spilled+s.Bundle.Bytes > spillAll {
		return
	}
	if err := v.spill(l.spillTo); err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errChanged) { // it is being changed at this moment
			l.log.Warn("a large skill is not copied: calls of this version may fail when its files change", "skill", s.Name, "error", err)
		}
		return
	}
	l.spills, l.spilled = l.spills+1, l.spilled+s.Bundle.Bytes
}

// unspill gives the room of a bundle to others. The copy itself is closed when nobody has the bundle any more.
func (l *Library) unspill(s *Skill) {
	if v, ok := s.Bundle.FS.(*view); ok && v.copied != nil {
		l.spills, l.spilled = l.spills-1, l.spilled-s.Bundle.Bytes
	}
}
