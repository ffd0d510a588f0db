package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Files is a folder of the cell. Nothing outside of it is read through it, whatever links say.
type Files struct {
	root *os.Root
	name string // as people know it: "/skill"
}

// File is one file's name, relative to its folder, and its size in bytes.
type File struct {
	Name string
	Size int64
}

// OpenFiles opens a folder, which people know under another name. A folder that is not there is empty.
func OpenFiles(dir, name string) (*Files, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &Files{name: name}, nil
	}
	if err != nil {
		return nil, Failf(CodeInternal, "%s: %v", name, Plain(err))
	}
	return &Files{root: root, name: name}, nil
}

// Close closes the folder.
func (f *Files) Close() {
	if f.root != nil {
		_ = f.root.Close() // read only
	}
}

// List returns at most so many files, sorted by name, and whether there are more.
func (f *Files) List(most int) (files []File, more bool) {
	if f.root == nil {
		return nil, false
	}
	stop := errors.New("enough")
	_ = fs.WalkDir(f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // what cannot be read is not listed
		}
		if len(files) == most {
			more = true
			return stop
		}
		file := File{Name: name}
		if info, err := d.Info(); err == nil {
			file.Size = info.Size()
		}
		files = append(files, file)
		return nil
	})
	return files, more
}

// Open opens a regular file by its name relative to the folder, or by its whole path.
func (f *Files) Open(name string) (*os.File, error) {
	rel := strings.TrimPrefix(path.Clean(name), f.name+"/")
	if !fs.ValidPath(rel) || f.root == nil {
		return nil, fmt.Errorf("%s: not in %s", OneLine(name, 200), f.name)
	}
	file, err := f.root.Open(rel)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(f.name, rel), Plain(err))
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, fmt.Errorf("%s: not a regular file", path.Join(f.name, rel))
	}
	return file, nil
}

// Read returns a file's bytes, if there are at most so many.
func (f *Files) Read(name string, most int64) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", OneLine(name, 200), Plain(err))
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%s: more than %d bytes", OneLine(name, 200), most)
	}
	return data, nil
}

// Plain takes the path off an error.
func Plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
