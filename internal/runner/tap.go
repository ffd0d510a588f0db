package runner

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// tap is the runner's end of one of the skill's output pipes. It is a plain descriptor until nothing is there to be read.
type tap struct {
	fd     int
	ending atomic.Bool

	mu sync.Mutex
	f  *os.File // waits
}

// Read reads; once the process has ended it waits for more only so long.
func (t *tap) Read(p []byte) (int, error) {
	for t.f == nil { // which nobody else sets
		switch n, err := syscall.Read(t.fd, p); {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, io.EOF
		case err == syscall.EAGAIN:
			t.mu.Lock()
			t.f = os.NewFile(uintptr(t.fd), "pipe")
			t.mu.Unlock()
		case err != syscall.EINTR:
			return 0, os.NewSyscallError("read", err)
		}
	}
	if t.ending.Load() {
		t.hurry()
	}
	return t.f.Read(p)
}

// finish has the reader wait for what may still come only so long.
func (t *tap) finish() {
	t.ending.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f != nil {
		t.hurry()
	}
}

func (t *tap) hurry() { _ = t.f.SetReadDeadline(time.Now().Add(drainGrace)) }

// close closes the pipe, once nobody reads any more.
func (t *tap) close() {
	if t.f == nil {
		_ = syscall.Close(t.fd)
		return
	}
	_ = t.f.Close()
}
