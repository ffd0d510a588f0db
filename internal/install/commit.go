package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/durable"
)

// commit makes a bundle the current version of its skill, and reports whether it is another one than before.
func (in *Installer) commit(ctx context.Context, m *made, match string) (got *catalog.Installed, changed bool, err error) {
	unlock, err := in.lock(ctx)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	x, err := in.settle(ctx, m.Name)
	if err != nil {
		return nil, false, err
	}
	if err := x.match(match); err != nil {
		return nil, false, err
	}
	if err := in.room(m.Name, x); err != nil {
		return nil, false, err
	}
	if x.digest() == m.Digest && in.published(m.Name) == m.Digest {
		return x.current(), false, nil
	}
	next, err := in.keep(m, x)
	if err != nil {
		return nil, false, err
	}
	done, err := in.finish(m.Name, m.dir, next)
	if err != nil {
		return nil, false, in.takeBack(m.Name, x, err)
	}
	return done.current(), true, nil
}

// current is the version that the index says is in use.
func (x *index) current() *catalog.Installed {
	v := *x.find(x.Current)
	v.Current = true
	return &v
}

// published is the digest of what is in a skill's place, "" if nothing is.
func (in *Installer) published(name string) string {
	bundle, err := bundleAt(filepath.Join(in.dir, name))
	if err != nil {
		return ""
	}
	return bundle.Digest
}

// room makes sure that there is a place for a skill, and that nothing else is there.
func (in *Installer) room(name string, x *index) error {
	if x.Current != "" {
		return nil
	}
	_, err := os.Lstat(filepath.Join(in.dir, name))
	switch {
	case err == nil:
		return fault(catalog.NameTaken, "%s is in the folder of installed skills, though it was not installed: move it away first", name)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(filepath.Join(in.dir, ".versions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) >= maxSkills {
		return fault(catalog.LimitReached, "%d skills are installed; remove one first", len(entries))
	}
	return nil
}

// keep adds a version to those that are kept, and writes that it is to be the current one.
func (in *Installer) keep(m *made, x *index) (*index, error) {
	dir := in.versions(m.Name)
	fresh := x.Last == 0
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	next := x.next(m.Installed)
	file := in.kept(m.Name, next.Current)
	err := in.step("keep")
	if err == nil {
		err = durable.Rename(m.file, file)
	}
	if err == nil {
		err = durable.Folder(filepath.Dir(dir))
	}
	if err == nil {
		err = in.write(m.Name, next)
	}
	switch {
	case err == nil:
		return next, nil
	case fresh:
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return nil, errors.Join(err, os.Remove(file))
}

// takeBack makes the index what it was, since what it says could not be carried out.
func (in *Installer) takeBack(name string, x *index, why error) error {
	if x.Last == 0 {
		return errors.Join(why, os.RemoveAll(in.versions(name)))
	}
	err := in.write(name, x)
	if err == nil {
		err = in.prune(name, x)
	}
	return errors.Join(why, err)
}

// Versions implements [catalog.Installer].
func (in *Installer) Versions(_ context.Context, name string) ([]catalog.Installed, error) {
	x, err := in.known(name, in.read)
	if err != nil {
		return nil, err
	}
	list := slices.Clone(x.Versions)
	for i := range list {
		list[i].Current = list[i].Version == x.Current
	}
	slices.Reverse(list)
	return list, nil
}

// known is the index of a skill that is installed.
func (in *Installer) known(name string, read func(string) (*index, error)) (*index, error) {
	if checkName(name) != nil {
		return nil, notInstalled(name)
	}
	x, err := read(name)
	if err == nil && (x.Current == "" || x.Doing == removing) {
		err = notInstalled(name)
	}
	return x, err
}

func notInstalled(name string) error {
	return fault(catalog.SkillNotFound, "Skill '%s' not found.", show(name))
}

// Rollback implements [catalog.Installer].
func (in *Installer) Rollback(ctx context.Context, name, version, match string) (*catalog.Installed, error) {
	got, changed, err := in.rollback(ctx, name, version, match)
	if changed {
		in.changed(name)
	}
	return got, err
}

func (in *Installer) rollback(ctx context.Context, name, version, match string) (got *catalog.Installed, changed bool, err error) {
	unlock, err := in.lock(ctx)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	x, err := in.known(name, func(name string) (*index, error) { return in.settle(ctx, name) })
	if err != nil {
		return nil, false, err
	}
	if err := x.match(match); err != nil {
		return nil, false, err
	}
	want := x.find(version)
	switch {
	case want == nil:
		return nil, false, fault(catalog.VersionNotFound, "Skill '%s' has no version %q.", name, show(version))
	case version == x.Current && in.published(name) == want.Digest:
		return x.current(), false, nil
	}
	s, err := in.stage()
	if err != nil {
		return nil, false, err
	}
	defer in.discard(s)
	dir, err := in.restore(ctx, s, name, version, want.Digest)
	if err != nil {
		return nil, false, err
	}
	next := &index{Last: x.Last, Current: version, Doing: publishing, Versions: x.Versions}
	if err := in.write(name, next); err != nil {
		return nil, false, err
	}
	done, err := in.finish(name, dir, next)
	if err != nil {
		return nil, false, in.takeBack(name, x, err)
	}
	return done.current(), true, nil
}

// Remove implements [catalog.Installer].
func (in *Installer) Remove(ctx context.Context, name, match string) error {
	err := in.remove(ctx, name, match)
	if err == nil {
		in.changed(name)
	}
	return err
}

func (in *Installer) remove(ctx context.Context, name, match string) error {
	unlock, err := in.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if checkName(name) != nil {
		return notInstalled(name)
	}
	x, err := in.read(name) // whatever is left to be done is of no use any more
	switch {
	case err != nil:
		return err
	case x.Current == "":
		return notInstalled(name)
	case x.Doing == removing:
		match = "" // it was decided before
	}
	if err := x.match(match); err != nil {
		return err
	}
	s, err := in.stage()
	if err != nil {
		return err
	}
	defer in.discard(s)
	if err := in.write(name, &index{Last: x.Last, Current: x.Current, Doing: removing, Versions: x.Versions}); err != nil {
		return err
	}
	if err := in.forget(name, s); err != nil {
		if in.published(name) != "" {
			err = in.takeBack(name, x, err)
		}
		return err
	}
	return nil
}
