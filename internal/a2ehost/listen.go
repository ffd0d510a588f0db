package a2ehost

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxPath is the longest path of a unix socket, in bytes.
const maxPath = 107

// privatePrefix starts the name of the folder in which a socket is made.
const privatePrefix = ".hc"

// privateName is how much longer than its folder the path is under which a socket is made.
const privateName = len("/.hc0123456789/s")

// Listen makes the unix socket path with the given mode and listens on it. A missing parent folder is made, a socket
// that nothing answers is replaced. Closing the listener removes the socket, unless another has taken its place.
func Listen(path string, mode fs.FileMode) (net.Listener, error) {
	dir := filepath.Dir(path)
	if n := max(len(path), len(dir)+privateName); n > maxPath {
		return nil, fmt.Errorf("socket path %s is too long: expected at most %d bytes", path, maxPath-max(0, n-len(path)))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("folder of the socket: %w", err)
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of the socket: %w", err)
	}
	defer unlock()
	if err := vacant(path); err != nil {
		return nil, err
	}
	clearAway(dir)
	return bind(path, mode)
}

// lock keeps two processes from finding the same stale socket at once, each then taking it from the other.
func lock(dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("%s is locked, perhaps by another hotcell that is starting: %w", dir, err)
	}
	return func() { _ = d.Close() }, nil
}

// vacant reports why path cannot be taken. A socket that refuses connections has no owner any more.
func vacant(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("socket: %s exists and is not a socket: remove it or choose another path", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("socket: another hotcell serves %s", path)
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ENOENT):
		return nil
	}
	return fmt.Errorf("socket: another hotcell may be serving %s: %w", path, err)
}

// clearAway removes the private folders that processes left when they were killed while they made their socket: nobody else
// has one while dir is locked.
func clearAway(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // then making one fails too, and says why
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.IsDir() || !own(info) || !strings.HasPrefix(entry.Name(), privatePrefix) {
			continue
		}
		private := filepath.Join(dir, entry.Name())
		_ = os.Remove(filepath.Join(private, "s"))
		_ = os.Remove(private) // unless there is something else in it
	}
}

func own(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// bind makes the socket in a private folder and moves it into place, so that it is never there with another mode.
func bind(path string, mode fs.FileMode) (net.Listener, error) {
	private, err := os.MkdirTemp(filepath.Dir(path), privatePrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("folder of the socket: %w", err)
	}
	defer func() { _ = os.RemoveAll(private) }()
	fresh := filepath.Join(private, "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false)
	l := &listener{UnixListener: ln, path: path}
	if err = os.Chmod(fresh, mode); err == nil {
		if l.made, err = os.Lstat(fresh); err == nil {
			err = os.Rename(fresh, path)
		}
	}
	if err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("socket: %w", err)
	}
	return l, nil
}

// listener removes its socket when it is closed.
type listener struct {
	*net.UnixListener
	path string
	made fs.FileInfo
	once sync.Once
}

// Addr returns the path under which clients find the socket.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close implements [net.Listener].
func (l *listener) Close() error {
	l.once.Do(func() {
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.made) {
			_ = os.Remove(l.path)
		}
	})
	return l.UnixListener.Close()
}
