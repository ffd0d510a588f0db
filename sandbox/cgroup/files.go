package cgroup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// number reads a file with one number in it. A file that is missing, or whose group is gone, is not zero: ok is false.
func number(parts ...string) (n int64, ok bool) {
	b, err := read(parts...)
	if err != nil {
		return 0, false
	}
	return parse(strings.TrimSpace(string(b)))
}

// entry reads the number behind a key in a file of "key number" lines.
func entry(key string, parts ...string) (n int64, ok bool) {
	b, err := read(parts...)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if k, v, found := strings.Cut(strings.TrimSpace(line), " "); found && k == key {
			return parse(v)
		}
	}
	return 0, false
}

func parse(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0
}

// fields reads the words of a file; none where it cannot be read.
func fields(parts ...string) []string {
	b, _ := read(parts...)
	return strings.Fields(string(b))
}

// read reads a file of a control group. There are many to read around each cell, and an [os.File] costs each of them three
// times the system calls, for a poller that none of them needs.
func read(parts ...string) ([]byte, error) {
	path := filepath.Join(parts...)
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }() // read only
	b := make([]byte, 0, 512)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return b, nil
		default:
			b = slices.Grow(b[:len(b)+n], 1)
		}
	}
}

// write writes to a file that is there: a control group makes its own files.
func write(value string, parts ...string) error {
	path := filepath.Join(parts...)
	fd, err := open(path, unix.O_WRONLY)
	if err != nil {
		return err
	}
	n, err := unix.Write(fd, []byte(value))
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Write(fd, []byte(value))
	}
	if err == nil && n < len(value) {
		err = io.ErrShortWrite
	}
	if err != nil {
		err = &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return errors.Join(err, unix.Close(fd))
}

func open(path string, how int) (int, error) {
	for {
		fd, err := unix.Open(path, how|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return fd, nil
		case !errors.Is(err, unix.EINTR):
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// subgroups returns the names of the groups below a group.
func subgroups(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// removeTries and removePause say how long a group is busy after its last process: 10, 20, 40, 80, 160 ms at most.
const (
	removeTries = 6
	removePause = 10 * time.Millisecond
)

// removeAll removes a group and what is below it from every tree. What is not there is removed. The groups that are likely
// below it are tried at once, instead of asking what there is.
func removeAll(points []string, path string, likely ...string) error {
	if err := below(path); err != nil {
		return err
	}
	var errs []error
	pause := removePause
	for try := 1; ; try++ {
		errs = errs[:0]
		for _, point := range points {
			if err := removeTree(filepath.Join(point, path), likely...); err != nil {
				errs = append(errs, err)
			}
		}
		if len(errs) == 0 || try == removeTries {
			return errors.Join(errs...)
		}
		time.Sleep(pause)
		pause *= 2
	}
}

// below says why a group is none that may be removed.
func below(path string) error {
	if strings.Count(path, "/") < 1 || filepath.Clean(path) != path || path == "/" {
		return fmt.Errorf("group %q: not removed: expected a path below the root", path)
	}
	return nil
}

func removeTree(dir string, likely ...string) error {
	for _, name := range likely {
		_ = unix.Rmdir(filepath.Join(dir, name)) // what is wrong is seen below
	}
	err := unix.Rmdir(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range subgroups(dir) {
		_ = removeTree(filepath.Join(dir, name)) // the group's own removal tells
	}
	if err = unix.Rmdir(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &fs.PathError{Op: "rmdir", Path: dir, Err: err}
}
