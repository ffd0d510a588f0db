package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

const (
	shared    = syscall.LOCK_SH // who only asks whether it is locked: askers don't see one another
	exclusive = syscall.LOCK_EX // who owns the file, or removes it
)

// How long an opener waits for those who only look at its file, or are removing an old one of the same name.
const (
	lookersLimit = time.Second
	lookersPause = 5 * time.Millisecond
)

// occupy makes and locks the file. A file that was removed between the two steps is made again: the lock on a file without
// a name tells nobody anything.
func occupy(path string) (*os.File, error) {
	for deadline := time.Now().Add(lookersLimit); ; time.Sleep(lookersPause) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		if info, serr := f.Stat(); serr != nil || !info.Mode().IsRegular() {
			return nil, errors.Join(fmt.Errorf("%s is not a regular file: remove it", path), serr, f.Close())
		}
		free, err := tryLock(f, exclusive)
		if err == nil && free && names(path, f) {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s is locked: another process has this id", path)
		}
	}
}

// holds makes sure that a lock is seen by whoever opens the file anew. On some file systems every lock is to be had, and the
// living would look dead.
func holds(path string) error {
	f, err := look(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	free, err := tryLock(f, shared)
	if err == nil && free {
		err = fmt.Errorf("%s: locks on files mean nothing on its file system: choose another data folder", path)
	}
	return errors.Join(err, f.Close())
}

// look opens a file of another supervisor: a regular one that is no link and that this user may judge by.
func look(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, how|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", path)
	case !trusted(info):
		err = fmt.Errorf("%s is another user's", path)
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// trusted reports whether a file is this user's own. By another's, also in a folder of theirs, nobody is taken for dead.
func trusted(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// tryLock reports whether the lock was to be had.
func tryLock(f *os.File, how int) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

// names reports whether path still leads to the open file.
func names(path string, f *os.File) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(held, there)
}
