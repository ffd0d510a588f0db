package cgroup

import (
	"encoding/binary"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ring is the eventfd that the kernel rings when memory runs out in a v1 group or in one above it. The group's removal
// rings it too: close it before.
type ring struct {
	file *os.File // what listen waits with
	raw  syscall.RawConn

	mu     sync.Mutex
	fd     int // the file's; never read after closed
	closed bool
	count  uint64
}

// newRing owns the descriptor, even when it fails.
func newRing(fd int) (*ring, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	r := &ring{file: os.NewFile(uintptr(fd), "oom eventfd"), fd: fd}
	raw, err := r.file.SyscallConn()
	if err != nil {
		_ = r.file.Close()
		return nil, err
	}
	r.raw = raw
	return r, nil
}

// rung returns how often the kernel has rung so far; several rings at once may count as one. It takes nothing from the
// kernel: whoever waits in next would not wake up for a ring that another has taken.
func (r *ring) rung() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.count
	}
	waiting := []unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(waiting, 0); err == nil && n == 1 && waiting[0].Revents&unix.POLLIN != 0 {
		return r.count + 1
	}
	return r.count
}

// take takes the count from the kernel and returns how often it has rung so far. Taking and noting it are one step, so that
// no ring is ever on its way between the two.
func (r *ring) take() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b [8]byte
	if r.closed {
		return r.count
	}
	if n, err := unix.Read(r.fd, b[:]); err == nil && n == len(b) {
		r.count += binary.NativeEndian.Uint64(b[:])
	}
	return r.count
}

// next waits until the kernel has rung more often than seen, and returns how often. It reports false once the ring is
// closed.
func (r *ring) next(seen uint64) (uint64, bool) {
	now := seen
	err := r.raw.Read(func(uintptr) bool {
		now = r.take()
		return now > seen
	})
	return now, err == nil
}

func (r *ring) close() {
	r.mu.Lock()
	done := r.closed
	r.closed = true
	r.mu.Unlock()
	if !done {
		_ = r.file.Close()
	}
}
