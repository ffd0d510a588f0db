package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// number reads a file with one number in it. A file that is missing, or whose group is gone, is not zero: ok is false.
func number(parts ...string) (n int64, ok bool) {
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		return 0, false
	}
	return parse(strings.TrimSpace(string(b)))
}

// entry reads the number behind a key in a file of "key number" lines.
func entry(key string, parts ...string) (n int64, ok bool) {
	b, err := os.ReadFile(filepath.Join(parts...))
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
	b, _ := os.ReadFile(filepath.Join(parts...))
	return strings.Fields(string(b))
}

// write writes to a file that is there: a control group makes its own files.
func write(value string, parts ...string) error {
	f, err := os.OpenFile(filepath.Join(parts...), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
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

// removeAll removes a group and what is below it from every tree. What is not there is removed.
func removeAll(points []string, path string) error {
	if strings.Count(path, "/") < 1 || filepath.Clean(path) != path || path == "/" {
		return fmt.Errorf("group %q: not removed: expected a path below the root", path)
	}
	var errs []error
	pause := removePause
	for try := 1; ; try++ {
		errs = errs[:0]
		for _, point := range points {
			if err := removeTree(filepath.Join(point, path)); err != nil {
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

func removeTree(dir string) error {
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
