package a2ehost

import (
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// input is the reading side of a session. A Read that is interrupted, now or later, returns an error.
type input interface {
	io.Reader
	interrupt()
	close() // releases what the input itself made; the reader stays the caller's
}

// output is the writing side. A Write that takes too long fails.
type output interface {
	io.Writer
	limit(d time.Duration) // for the Write that runs and those to come
}

// deadlines is what connections, and files that the runtime can poll, have.
type deadlines interface {
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

func newInput(r io.Reader) (input, error) {
	if d, ok := r.(deadlines); ok && d.SetReadDeadline(time.Time{}) == nil {
		return deadlineInput{Reader: r, set: d.SetReadDeadline}, nil
	}
	switch r := r.(type) {
	case *os.File:
		return newFileInput(r)
	case io.ReadCloser:
		return closingInput{r}, nil
	}
	return plainInput{r}, nil
}

func newOutput(w io.Writer, d time.Duration) output {
	if dl, ok := w.(deadlines); ok && dl.SetWriteDeadline(time.Time{}) == nil {
		return &deadlineOutput{w: w, set: dl.SetWriteDeadline, most: d}
	}
	if f, ok := w.(*os.File); ok {
		return newFileOutput(f, d)
	}
	return plainOutput{w}
}

// newProbe returns a function that reports whether nobody can read from w any more: the peer has closed its socket (and
// not only its sending half), or a pipe has lost its reader. Where w cannot tell, only a failing Write will.
func newProbe(w io.Writer) func() bool {
	sc, ok := w.(syscall.Conn)
	if !ok {
		return func() bool { return false }
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return func() bool { return false }
	}
	return func() bool {
		gone := false
		err := rc.Control(func(fd uintptr) {
			fds := []unix.PollFd{{Fd: int32(fd)}}
			n, err := unix.Poll(fds, 0)
			gone = err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
		})
		return err != nil || gone
	}
}

type deadlineInput struct {
	io.Reader
	set func(time.Time) error
}

func (d deadlineInput) interrupt() { _ = d.set(time.Unix(1, 0)) }
func (d deadlineInput) close()     {}

// closingInput is interrupted by closing the reader.
type closingInput struct{ io.ReadCloser }

func (c closingInput) interrupt() { _ = c.Close() }
func (c closingInput) close()     {}

// plainInput cannot be interrupted; the session waits for its Read.
type plainInput struct{ io.Reader }

func (plainInput) interrupt() {}
func (plainInput) close()     {}

type plainOutput struct{ io.Writer }

func (plainOutput) limit(time.Duration) {}
