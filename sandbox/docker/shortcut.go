package docker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hotcell/hotcell/sandbox"
)

var _ sandbox.Shortener = (*cell)(nil)

// Shorten implements [sandbox.Shortener]: what is written to stdin goes right into the pipe that the cell's first process reads from,
// past the engine and the process between it and the cell, each of which would have to wake up for it. That can be done where this process
// sees the cell's processes and has the right; elsewhere all stays as it is.
func (c *cell) Shorten() {
	for _, pid := range c.group.Processes() {
		pipe, err := stdinPipe(pid)
		if err != nil {
			c.d.log.Debug("a cell's stdin has no shorter way", "cell", c.name, "err", err)
			return
		}
		if pipe == nil {
			continue // not the first process
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.destroyed || c.stdinDone || c.direct != nil {
			_ = pipe.Close()
			return
		}
		c.direct = pipe
		return
	}
}

// stdinPipe opens the end for writing of the pipe that is the stdin of a container's first process. It returns nil for a process that is
// not the first. What the process says of its own descriptors is not believed: the end that is opened is one that its parent has, the
// engine's own process beside the container.
func stdinPipe(pid int) (*os.File, error) {
	first, parent, err := lineage(pid)
	if err != nil || !first {
		return nil, err
	}
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
		if link, err := os.Readlink(path); err != nil || link != stdin || !writes(parent, d.Name()) {
			continue
		}
		return openPipe(path, stdin)
	}
	return nil, fmt.Errorf("process %d does not write to its stdin", parent)
}

// lineage reports whether a process is the first one of a namespace of its own, and which process is its parent.
func lineage(pid int) (first bool, parent int, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false, 0, err
	}
	for line := range bytes.Lines(status) {
		key, value, _ := strings.Cut(string(line), ":")
		switch fields := strings.Fields(value); {
		case key == "PPid" && len(fields) == 1:
			if parent, err = strconv.Atoi(fields[0]); err != nil {
				return false, 0, err
			}
		case key == "NSpid" && len(fields) > 1:
			first = fields[len(fields)-1] == "1"
		}
	}
	return first && parent > 1, parent, nil
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
			return err == nil && flags&syscall.O_ACCMODE == syscall.O_WRONLY
		}
	}
	return false
}

// openPipe opens the pipe of that name, if it is the same still and holds as much as [takes].
func openPipe(path, name string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	var stat unix.Stat_t
	room := 0
	if failed := raw.Control(func(fd uintptr) {
		if err = unix.Fstat(int(fd), &stat); err == nil {
			room, err = unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
		}
	}); failed != nil {
		err = failed
	}
	switch {
	case err != nil:
	case stat.Mode&unix.S_IFMT != unix.S_IFIFO || name != fmt.Sprintf("pipe:[%d]", stat.Ino):
		err = fmt.Errorf("it is another file than %s by now", name)
	case room < takes:
		err = fmt.Errorf("it takes %d bytes at once", room)
	default:
		return f, nil
	}
	_ = f.Close()
	return nil, err
}
