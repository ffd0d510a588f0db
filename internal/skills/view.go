package skills

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"time"
)

var errChanged = errors.New("the file has changed since the skill was loaded")

// view is a bundle's files as they were read: no links, no dot files, plain permissions, no times. A file that has
// changed since cannot be opened, so that what is handed to a cell is what the digest says.
type view struct {
	fsys  fs.FS
	files map[string]bundleFile
	dirs  map[string][]fs.DirEntry // sorted by name
	kept  bool                     // the contents are in memory: whatever becomes of the disk, they stay

	copied *os.File // they are here instead; nil: they are not
}

// forget drops the contents of files.
func (v *view) forget() {
	for name, f := range v.files {
		f.data = nil
		v.files[name] = f
	}
}

func newView(fsys fs.FS, files []bundleFile) *view {
	v := &view{fsys: fsys, files: make(map[string]bundleFile, len(files)), dirs: map[string][]fs.DirEntry{".": nil}}
	for _, f := range files {
		v.files[f.path] = f
		v.link(f.path, viewInfo{name: path.Base(f.path), mode: f.mode, size: f.size})
	}
	for _, entries := range v.dirs {
		sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	}
	return v
}

// link enters a name into its folder, and the folder into its own.
func (v *view) link(name string, info viewInfo) {
	dir := path.Dir(name)
	_, known := v.dirs[dir]
	v.dirs[dir] = append(v.dirs[dir], info)
	if !known {
		v.link(dir, dirInfo(dir))
	}
}

func dirInfo(dir string) viewInfo { return viewInfo{name: path.Base(dir), mode: fs.ModeDir | 0o755} }

// Open implements [fs.FS].
func (v *view) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if entries, ok := v.dirs[name]; ok {
		return &viewDir{viewInfo: dirInfo(name), path: name, entries: entries}, nil
	}
	want, ok := v.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	info := viewInfo{name: path.Base(name), mode: want.mode, size: want.size}
	if v.kept {
		return &viewFile{viewInfo: info, Reader: bytes.NewReader(want.data)}, nil
	}
	// It is read and compared before the first byte is given away.
	var b bytes.Buffer
	b.Grow(int(want.size))
	if v.copied != nil {
		if _, err := io.Copy(&b, io.NewSectionReader(v.copied, want.at, want.size)); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return &viewFile{viewInfo: info, Reader: bytes.NewReader(b.Bytes())}, nil
	}
	got, err := readBundleFile(v.fsys, name, want.size, &b)
	if err != nil || got.sum != want.sum {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errChanged}
	}
	return &viewFile{viewInfo: info, Reader: bytes.NewReader(b.Bytes())}, nil
}

// Stat implements [fs.StatFS].
func (v *view) Stat(name string) (fs.FileInfo, error) {
	if _, ok := v.dirs[name]; ok {
		return dirInfo(name), nil
	}
	if f, ok := v.files[name]; ok {
		return viewInfo{name: path.Base(name), mode: f.mode, size: f.size}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// ReadDir implements [fs.ReadDirFS].
func (v *view) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, ok := v.dirs[name]
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(entries), nil
}

// viewInfo is an [fs.FileInfo] and an [fs.DirEntry].
type viewInfo struct {
	name string
	mode fs.FileMode
	size int64
}

func (i viewInfo) Name() string               { return i.name }
func (i viewInfo) Size() int64                { return i.size }
func (i viewInfo) Mode() fs.FileMode          { return i.mode }
func (i viewInfo) Type() fs.FileMode          { return i.mode.Type() }
func (i viewInfo) ModTime() time.Time         { return time.Time{} }
func (i viewInfo) IsDir() bool                { return i.mode.IsDir() }
func (i viewInfo) Sys() any                   { return nil }
func (i viewInfo) Info() (fs.FileInfo, error) { return i, nil }

type viewFile struct {
	viewInfo
	*bytes.Reader
}

func (f *viewFile) Stat() (fs.FileInfo, error) { return f.viewInfo, nil }
func (f *viewFile) Size() int64                { return f.viewInfo.size }
func (f *viewFile) Close() error               { return nil }

type viewDir struct {
	viewInfo
	path    string
	entries []fs.DirEntry
	at      int
}

func (d *viewDir) Stat() (fs.FileInfo, error) { return d.viewInfo, nil }
func (d *viewDir) Close() error               { return nil }

func (d *viewDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: fs.ErrInvalid}
}

// ReadDir implements [fs.ReadDirFile].
func (d *viewDir) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := d.entries[d.at:]
	if n > 0 && len(rest) == 0 {
		return nil, io.EOF
	}
	if n > 0 && len(rest) > n {
		rest = rest[:n]
	}
	d.at += len(rest)
	return slices.Clone(rest), nil
}
