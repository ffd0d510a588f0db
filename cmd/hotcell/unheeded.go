package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// atOnce is what a pipe that polls as writable takes without blocking (PIPE_BUF on Linux), in bytes.
	atOnce = 4096
	// heedWait is how long a line waits for a reader that is slow. Once one has waited in vain, others don't.
	heedWait = 100 * time.Millisecond
)

// unheeded writes logs to a stderr that nobody may be reading: some clients that start a host open a pipe for it and never look at
// it. What the pipe has no room for is dropped, so that it holds up no call.
type unheeded struct {
	f *os.File

	mu   sync.Mutex
	lost int // lines, since the last that got through
}

// heedless is w as the logs of a host on stdin and stdout need it.
func heedless(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		return &unheeded{f: f}
	}
	return w
}

// Write implements [io.Writer].
func (u *unheeded) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := p
	if u.lost > 0 {
		out = append(fmt.Appendf(nil, "\nhotcell: %d lines of the log were dropped, since nobody read stderr\n", u.lost), p...)
	}
	for len(out) > 0 {
		if !u.ready() {
			u.lost++
			return len(p), nil
		}
		n, err := u.f.Write(out[:min(len(out), atOnce)])
		if err != nil {
			return 0, err
		}
		out = out[n:]
	}
	u.lost = 0
	return len(p), nil
}

// ready reports whether a piece can be written, or has an error that the write will tell.
func (u *unheeded) ready() bool {
	wait := heedWait
	if u.lost > 0 {
		wait = 0
	}
	fds := []unix.PollFd{{Fd: int32(u.f.Fd()), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, int(wait.Milliseconds()))
	return err == nil && n > 0
}
