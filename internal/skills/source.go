package skills

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// The labels of sources.
const (
	SourceProject   = "project"   // the project's own folders
	SourceInstalled = "installed" // uploaded by an operator
	SourceCore      = "core"      // bundled with the program
	SourceUser      = "user"      // a user's own
	SourceHosted    = "plugin"    // a skill that a plugin serves in this process; it is in no folder
)

// maxSkills bounds the bundles of one source.
const maxSkills = 10_000

// Source is a folder of bundles: each sub-folder that holds a SKILL.md is one.
type Source struct {
	Label string
	FS    fs.FS  // nil: the directory Path, links out of it not followed
	Path  string // for people; a directory when FS is nil

	Profile Profile // how strictly its SKILL.md are held to the format
}

// Dir is the source of a directory. It need not be there yet.
func Dir(label, dir string) Source { return Source{Label: label, Path: dir} }

func (s Source) fsys() fs.FS {
	if s.FS != nil {
		return s.FS
	}
	return rootFS(s.Path)
}

// open returns the same files for one scan: a directory is opened once, which makes looking at many files cheap. Nil is
// a directory that is not there.
func (s Source) open() (fsys fs.FS, done func(), err error) {
	if s.FS != nil {
		return s.FS, func() {}, nil
	}
	root, err := os.OpenRoot(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err != nil && underFile(s.Path):
		return nil, func() {}, nil
	case err != nil:
		return nil, nil, fmt.Errorf("skills folder %s: %s", s.Path, plainError(err))
	}
	return root.FS(), func() { _ = root.Close() }, nil
}

// underFile reports whether a path can't be there, since what should be a folder above it is none.
func underFile(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, syscall.ENOTDIR)
}

// folders returns the names of the bundles, sorted. A root that is not there has none.
func (s Source) folders(fsys fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("skills folder %s: %s", s.Path, plainError(err))
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() || !folderName(e.Name()) {
			continue
		}
		if !hasSkillMD(fsys, e.Name()) {
			continue
		}
		if len(out) == maxSkills {
			return nil, fmt.Errorf("skills folder %s: more than %d skills", s.Path, maxSkills)
		}
		out = append(out, e.Name())
	}
	return out, nil
}

func folderName(name string) bool { return !strings.HasPrefix(name, ".") && fs.ValidPath(name) }

// isBundle reports whether a source has a bundle of that name.
func isBundle(fsys fs.FS, folder string) bool {
	info, err := fs.Lstat(fsys, folder)
	return err == nil && info.IsDir() && folderName(folder) && hasSkillMD(fsys, folder)
}

// hasSkillMD reports whether a folder is a bundle. One that cannot be looked into counts, so that it is listed.
func hasSkillMD(fsys fs.FS, folder string) bool {
	info, err := fs.Lstat(fsys, path.Join(folder, fileSkill))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return info.Mode().IsRegular()
}

// rootFS is a directory out of which no symbolic link leads. Unlike an [os.Root] it need not exist yet and keeps nothing
// open.
type rootFS string

// Open implements [fs.FS].
func (r rootFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return os.OpenInRoot(string(r), filepath.FromSlash(name))
}

// Lstat implements [fs.ReadLinkFS], together with ReadLink.
func (r rootFS) Lstat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrInvalid}
	}
	root, err := os.OpenRoot(string(r))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Lstat(filepath.FromSlash(name))
}

// ReadLink implements [fs.ReadLinkFS].
func (r rootFS) ReadLink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}
