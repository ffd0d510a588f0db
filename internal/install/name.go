package install

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxPath   = 512 // bytes of a path in a bundle
	maxLevels = 16  // of folders
)

func printable(r rune) bool { return strconv.IsPrint(r) }

// cleaned returns an entry's name as a path in the archive, "" for its root. Names that lead out of it, or that no bundle can
// have, are refused rather than mended.
func cleaned(name string) (string, error) {
	switch {
	case strings.ContainsRune(name, 0):
		return "", bad(CodePath, name, "%q: a name with a NUL byte", show(name))
	case strings.Contains(name, `\`):
		return "", bad(CodePath, name, "%q: a name with a backslash; folders are separated by /", show(name))
	case strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':':
		return "", bad(CodePath, name, "%q: an absolute name; expected one below the archive's root", show(name))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !printable(r) }):
		return "", bad(CodePath, name, "%q: a name that isn't printable UTF-8", show(name))
	}
	clean := strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	if clean == "." || name == "./" {
		return "", nil
	}
	switch {
	case len(clean) > maxPath:
		return "", bad(CodePath, name, "%q: a name of more than %d bytes", show(name), maxPath)
	case strings.Count(clean, "/") > maxLevels:
		return "", bad(CodePath, name, "%q: more than %d levels of folders", show(name), maxLevels)
	}
	for part := range strings.SplitSeq(clean, "/") {
		switch part {
		case "..":
			return "", bad(CodePath, name, "%q: a name that leads out of its folder (..)", show(name))
		case ".", "":
			return "", bad(CodePath, name, "%q: a name with an empty part", show(name))
		}
	}
	return clean, nil
}

// left out are files that no bundle has: those that begin with a dot, and what a Mac adds to its archives.
func leftOut(path string) bool {
	return strings.HasPrefix(path, ".") || strings.Contains(path, "/.") || path == "__MACOSX" || strings.HasPrefix(path, "__MACOSX/")
}

// folded is the same for names that some file system takes for one.
func folded(path string) string { return strings.ToLower(strings.ToUpper(path)) }

// tree are the names of an archive, none of which stands in another's way.
type tree map[string]place // by folded name

type place struct {
	path   string
	folder bool
}

// add enters a file or a folder, and the folders above it.
func (t tree) add(path string, folder bool) error {
	for i := range path {
		if path[i] == '/' {
			if err := t.put(path[:i], true); err != nil {
				return err
			}
		}
	}
	return t.put(path, folder)
}

func (t tree) put(path string, folder bool) error {
	there, taken := t[folded(path)]
	switch {
	case !taken:
		t[folded(path)] = place{path, folder}
	case there.path != path:
		return bad(CodeDuplicate, path, "%q and %q differ by case alone", show(there.path), show(path))
	case !folder && !there.folder:
		return bad(CodeDuplicate, path, "%q is there twice", show(path))
	case folder != there.folder:
		return bad(CodeDuplicate, path, "%q is there as a file and as a folder", show(path))
	}
	return nil
}
