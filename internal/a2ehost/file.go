package a2ehost

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The standard streams are files that the runtime does not poll: they have no deadlines, and a Read or Write that waits
// cannot be ended. So the two types below poll them by themselves before they read or write.

// fileInput reads from a file in blocking mode.
type fileInput struct {
	f           *os.File
	wake, waker *os.File // a pipe; the reading end becomes readable when the waker is closed
	once        sync.Once
}

func newFileInput(f *os.File) (*fileInput, error) {
	wake, waker, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &fileInput{f: f, wake: wake, waker: waker}, nil
}

// Read implements [io.Reader].
func (i *fileInput) Read(p []byte) (int, error) {
	fds := []unix.PollFd{
		{Fd: int32(i.f.Fd()), Events: unix.POLLIN},
		{Fd: int32(i.wake.Fd()), Events: unix.POLLIN},
	}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("poll %s: %w", i.f.Name(), err)
		case fds[1].Revents != 0:
			return 0, os.ErrDeadlineExceeded
		case fds[0].Revents != 0:
			return i.f.Read(p)
		}
	}
}

func (i *fileInput) interrupt() { i.once.Do(func() { _ = i.waker.Close() }) }

func (i *fileInput) close() {
	i.interrupt()
	_ = i.wake.Close()
}

// pipeBuf is what a pipe that polls as writable takes without blocking (PIPE_BUF on Linux).
const pipeBuf = 4096

// recheck is how long a poll for writing runs before the limit is looked at again.
const recheck = 100 * time.Millisecond

// fileOutput writes to a file in blocking mode, in pieces that do not block. It goes around [os.File.Write], which ends
// the process when standard output has lost its reader.
type fileOutput struct {
	f    *os.File
	most atomic.Int64
}

func newFileOutput(f *os.File, most time.Duration) *fileOutput {
	o := &fileOutput{f: f}
	o.limit(most)
	return o
}

func (o *fileOutput) limit(d time.Duration) { o.most.Store(int64(d)) }

// Write implements [io.Writer].
func (o *fileOutput) Write(p []byte) (int, error) {
	start, done := time.Now(), 0
	for done < len(p) {
		if err := o.await(start); err != nil {
			return done, err
		}
		n, err := unix.Write(int(o.f.Fd()), p[done:min(done+pipeBuf, len(p))])
		if err != nil && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return done, &os.PathError{Op: "write", Path: o.f.Name(), Err: err}
		}
		done += max(n, 0)
	}
	return done, nil
}

// await returns when the file takes bytes, or has an error that the write will tell.
func (o *fileOutput) await(start time.Time) error {
	for {
		fds := []unix.PollFd{{Fd: int32(o.f.Fd()), Events: unix.POLLOUT}}
		n, err := unix.Poll(fds, int(recheck.Milliseconds()))
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("poll %s: %w", o.f.Name(), err)
		case n > 0:
			return nil
		case time.Since(start) > time.Duration(o.most.Load()):
			return &os.PathError{Op: "write", Path: o.f.Name(), Err: os.ErrDeadlineExceeded}
		}
	}
}
