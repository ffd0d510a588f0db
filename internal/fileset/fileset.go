package fileset

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Set is a read-only file system made of named files, wherever their content is. Folders follow from the names.
type Set struct {
	files map[string]Entry
	dirs  map[string][]fs.DirEntry // sorted by name
}

// Entry is one file: its size when it was added, its permission bits, and how to get at its content.
type Entry struct {
	Size int64
	Mode fs.FileMode
	Open func() (io.ReadCloser, error)
}

// New returns a Set with no file.
func New() *Set {
	return &Set{files: map[string]Entry{}, dirs: map[string][]fs.DirEntry{".": nil}}
}

// Add puts a file into the set and reports whether its name was free and valid.
func (s *Set) Add(name string, e Entry) bool {
	if !fs.ValidPath(name) || name == "." || s.Has(name) {
		return false
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, isFile := s.files[dir]; isFile {
			return false
		}
	}
	s.files[name] = e
	s.link(name, info{name: path.Base(name), size: e.Size, mode: e.Mode.Perm()})
	return true
}

// Has reports whether a file or a folder has this name.
func (s *Set) Has(name string) bool {
	_, isFile := s.files[name]
	_, isDir := s.dirs[name]
	return isFile || isDir
}

// link enters a name into its folder, and that folder into its own when it is new.
func (s *Set) link(name string, i info) {
	dir := path.Dir(name)
	list, known := s.dirs[dir]
	at, _ := slices.BinarySearchFunc(list, i.name, func(e fs.DirEntry, n string) int { return strings.Compare(e.Name(), n) })
	s.dirs[dir] = slices.Insert(list, at, fs.DirEntry(i))
	if !known {
		s.link(dir, info{name: path.Base(dir), mode: fs.ModeDir | 0o755})
	}
}

// Open implements [fs.FS]. A file gives at most the size that it had when it was added.
func (s *Set) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if e, ok := s.files[name]; ok {
		r, err := e.Open()
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		i := info{name: path.Base(name), size: e.Size, mode: e.Mode.Perm()}
		return &openFile{info: i, Reader: io.LimitReader(r, e.Size), Closer: r}, nil
	}
	if list, ok := s.dirs[name]; ok {
		return &openDir{info: info{name: path.Base(name), mode: fs.ModeDir | 0o755}, rest: list}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

type openFile struct {
	info info
	io.Reader
	io.Closer
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

type openDir struct {
	info info
	rest []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements [fs.ReadDirFile].
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(d.rest) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.rest) {
		n = len(d.rest)
	}
	out := d.rest[:n:n]
	d.rest = d.rest[n:]
	return out, nil
}

// info is the fs.FileInfo and the fs.DirEntry of a name in a Set.
type info struct {
	name string
	size int64
	mode fs.FileMode
}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.size }
func (i info) Mode() fs.FileMode          { return i.mode }
func (i info) Type() fs.FileMode          { return i.mode.Type() }
func (i info) IsDir() bool                { return i.mode.IsDir() }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) Sys() any                   { return nil }
func (i info) Info() (fs.FileInfo, error) { return i, nil }
