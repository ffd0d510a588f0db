package layout

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// maxLinks is how many links one path may lead through, as in the kernel.
const maxLinks = 40

// real is the folder that a path below the root names once its links are followed, as a process whose root this is would
// follow them. What is not there ends the search: the rest of the path is taken as it stands.
func (t *tree) real(dir string) (string, error) {
	rest, at := strings.Split(dir, "/"), "."
	links := 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at) // the root's parent is the root
			continue
		}
		next := path.Join(at, part)
		info, err := t.root.Lstat(next)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err != nil || info.Mode().Type() != fs.ModeSymlink {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("too many links")
		}
		target, err := t.root.Readlink(next)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			at = "."
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

// folder is [tree.real], and makes what is not there. A file in the way is an error. All folders on the way count as the
// layer's own.
func (t *tree) folder(dir string) (string, error) {
	dir, err := t.real(dir)
	if err != nil || dir == "." {
		return dir, err
	}
	for end := 1; end <= len(dir); end++ {
		if end < len(dir) && dir[end] != '/' {
			continue
		}
		part := dir[:end]
		if t.made[part] {
			continue
		}
		t.made[part] = true
		err := t.root.Mkdir(part, 0o700)
		if err == nil {
			err = t.root.Chmod(part, 0o755)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return dir, nil
}
