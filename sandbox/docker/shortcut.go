package docker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hotcell/hotcell/sandbox"
)

var _ sandbox.Shortener = (*cell)(nil)

// Shorten implements [sandbox.Shortener]: what is written to stdin goes right into the pipe that the cell's first process reads from,
// past the engine and the process between it and the cell, each of which would have to wake up for it. That can be done where this process
// sees the cell's processes and has the right; elsewhere all stays as it is.
func (c *cell) Shorten() {
	pipe, err := c.shortcut()
	if err != nil {
		c.d.log.Debug("a cell's stdin has no shorter way", "cell", c.name, "err", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.destroyed || c.stdinDone || c.direct != nil {
		_ = pipe.Close()
		return
	}
	c.direct = pipe
}

// shortcut opens the pipe that the cell's first process reads from.
func (c *cell) shortcut() (*os.File, error) {
	for _, pid := range c.group.Processes() {
		if _, first := lineage(pid); first {
			return c.stdinOf(pid)
		}
	}
	return nil, errors.New("its first process is not seen")
}

// stdinOf opens the stdin of the cell's first process. While its pidfd is held and it is there its number is nobody else's: the
// process that was looked at is one of the cell's own.
func (c *cell) stdinOf(pid int) (*os.File, error) {
	held, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("hold process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(held) }()
	parent, first := lineage(pid)
	cell := c.group.Processes()
	if !first || !slices.Contains(cell, pid) || slices.Contains(cell, parent) {
		return nil, fmt.Errorf("process %d is not its first process any more", pid)
	}
	pipe, err := stdinPipe(pid, parent)
	if err != nil {
		return nil, err
	}
	if err := unix.PidfdSendSignal(held, 0, nil, 0); err != nil {
		_ = pipe.Close()
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return pipe, nil
}

// stdinPipe opens the end for writing of the pipe that is the stdin of a container's first process. What the process says of its own
// descriptors is not believed: the end that is opened is one that its parent has, the engine's own process beside the container.
func stdinPipe(pid, parent int) (*os.File, error) {
	stdin, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid))
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(stdin, "pipe:") {
		return nil, fmt.Errorf("its stdin is %s", stdin)
	}
	dir := fmt.Sprintf("/proc/%d/fd", parent)
	descriptors, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range descriptors {
		path := filepath.Join(dir, d.Name())
		if link, err := os.Readlink(path); err == nil && link == stdin && writes(parent, d.Name()) {
			return openPipe(path, stdin)
		}
	}
	return nil, fmt.Errorf("process %d does not write to its stdin", parent)
}

// lineage returns a process's parent, and whether it is the first one of a pid namespace right below that of this process, as a
// container's is. One that a cell makes is below the cell's.
func lineage(pid int) (parent int, first bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(status) {
		key, value, _ := strings.Cut(string(line), ":")
		switch fields := strings.Fields(value); {
		case key == "PPid" && len(fields) == 1:
			parent, _ = strconv.Atoi(fields[0]) // 0: none that could be looked at
		case key == "NSpid":
			first = len(fields) == 2 && fields[1] == "1"
		}
	}
	return parent, first && parent > 1
}

// writes reports whether a process has a descriptor for writing alone.
func writes(pid int, fd string) bool {
	info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, fd))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(info) {
		if value, ok := strings.CutPrefix(string(line), "flags:"); ok {
			flags, err := strconv.ParseInt(strings.TrimSpace(value), 8, 64)
			return err == nil && flags&unix.O_ACCMODE == unix.O_WRONLY
		}
	}
	return false
}

// openPipe opens the pipe of that name, if it still is that one and no file of any other kind, whose opening could do something.
func openPipe(path, name string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	var system unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &stat), unix.Fstatfs(fd, &system)); err != nil {
		return nil, err
	}
	if system.Type != unix.PIPEFS_MAGIC || name != fmt.Sprintf("pipe:[%d]", stat.Ino) {
		return nil, fmt.Errorf("%s is another file than %s by now", path, name)
	}
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_WRONLY|unix.O_NONBLOCK, 0)
}

// push writes as much as a pipe takes at once, and waits for nobody: a cell may have made its own stdin small, or full.
func push(pipe *os.File, p []byte) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Write(func(fd uintptr) bool {
		for n < len(p) {
			var some int
			if some, err = unix.Write(int(fd), p[n:]); some > 0 {
				n += some
			}
			if err != nil && !errors.Is(err, unix.EINTR) {
				return true
			}
		}
		err = nil
		return true
	})
	if errors.Is(err, unix.EAGAIN) {
		err = nil
	}
	return n, errors.Join(failed, err)
}
