package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/hotcell/hotcell/internal/durable"
	"github.com/hotcell/hotcell/internal/skills"
)

// exchange puts the folder made in a skill's place, and what was there where made was. Nobody sees anything between.
func (in *Installer) exchange(name, made string) error {
	place := filepath.Join(in.dir, name)
	if err := in.step("exchange"); err != nil {
		return err
	}
	err := unix.Renameat2(unix.AT_FDCWD, made, unix.AT_FDCWD, place, unix.RENAME_EXCHANGE)
	switch {
	case errors.Is(err, unix.ENOENT):
		err = os.Rename(made, place)
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS):
		err = stepAside(place, made)
	}
	if err != nil {
		return fmt.Errorf("folder %s: %w", place, err)
	}
	if err := durable.Folder(in.dir); err != nil { // it is done all the same
		in.log.Warn("installed skill: a loss of power might undo it", "skill", name, "error", err)
	}
	return nil
}

// stepAside does in two steps what the file system can't do in one. A process that dies between is made up for.
func stepAside(place, made string) error {
	aside := made + ".aside"
	if err := os.Rename(place, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(made, place); err != nil {
		return errors.Join(err, os.Rename(aside, place))
	}
	return nil
}

// restore unpacks a version that is kept, and makes sure that it is what it was.
func (in *Installer) restore(ctx context.Context, s *stage, name, version, digest string) (dir string, err error) {
	f, err := os.Open(in.kept(name, version))
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	a := archive{f, TarGz, info.Size()}
	dir = s.files(name)
	if _, err := a.check(ctx, true); err != nil {
		return "", fmt.Errorf("%s: %w", f.Name(), err)
	}
	if err := a.unpack(ctx, "", dir); err != nil {
		return "", err
	}
	if bundle, err := bundleAt(dir); err != nil || bundle.Digest != digest {
		return "", errors.Join(err, fmt.Errorf("%s has changed since it was installed: it is not used", f.Name()))
	}
	return dir, nil
}

func bundleAt(dir string) (skills.Bundle, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return skills.Bundle{}, err
	}
	defer root.Close()
	bundle, _ := skills.ReadBundle(root.FS())
	return bundle, nil
}

// settle carries out what was decided and not carried out: the process died. The caller holds the lock.
func (in *Installer) settle(ctx context.Context, name string) (*index, error) {
	x, err := in.read(name)
	if err != nil || x.Doing == "" {
		return x, err
	}
	s, err := in.stage()
	if err != nil {
		return nil, err
	}
	defer in.discard(s)
	if x.Doing == removing {
		return &index{}, in.forget(name, s)
	}
	dir, err := in.restore(ctx, s, name, x.Current, x.digest())
	if err != nil {
		return nil, err
	}
	return in.finish(name, dir, x)
}

// finish publishes the current version of an index that is written, and writes that it is done.
func (in *Installer) finish(name, dir string, x *index) (*index, error) {
	if err := in.exchange(name, dir); err != nil {
		return x, err
	}
	done := x.pruned()
	done.Doing = ""
	err := in.write(name, done)
	if err == nil {
		err = in.prune(name, done)
	}
	if err != nil { // it is published all the same, and the next one will do the rest
		in.log.Warn("installed skill: its versions are not tidied up", "skill", name, "error", err)
		return x, nil
	}
	return done, nil
}

// forget takes a skill away, of which the index says that it is being removed.
func (in *Installer) forget(name string, s *stage) error {
	for i, from := range []string{filepath.Join(in.dir, name), in.versions(name)} {
		if err := in.step("forget"); err != nil {
			return err
		}
		err := os.Rename(from, s.path(fmt.Sprint("removed-", i)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(durable.Folder(in.dir), durable.Folder(filepath.Dir(in.versions(name))))
}

// recover settles every skill.
func (in *Installer) recover(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(in.dir, ".versions"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		x, err := in.settle(ctx, e.Name())
		if err == nil && x.Last > 0 {
			err = in.prune(e.Name(), x)
		} else if err == nil {
			err = os.RemoveAll(in.versions(e.Name())) // what it was to be never came about
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("installed skill %s: %w", e.Name(), err))
		}
	}
	return errors.Join(errs...)
}
