package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
)

// cell is one container. It is created → started → ended, and destroyed from any of these.
type cell struct {
	d       *Driver
	id      string
	name    string
	dir     folder
	program program
	group   *cgroup.Group
	limits  cgroup.Limits

	mu        sync.Mutex
	claimed   bool // Start was called
	destroyed bool
	stdinDone bool // the caller has closed stdin
	streams   *streams
	pidfd     *os.File // of the first process, while it is not reaped
	pid       int
	orphans   []int              // children of this process that the runtime left beside the first one
	lost      []process          // what a runtime that was killed had started
	abort     context.CancelFunc // ends a start

	stdout, stderr *output

	up      chan struct{} // closed by decide, when the process runs, or never will
	decide  func()
	left    chan struct{} // closed when Start has returned
	settled sync.Once
	exited  chan struct{} // closed when exit and exitErr stand
	exit    sandbox.Exit
	exitErr error

	work sync.WaitGroup // who waits for the end
}

var (
	_ sandbox.Sandbox = (*cell)(nil)
	_ sandbox.Witness = (*cell)(nil)
)

func newCell(d *Driver, name string, p program) *cell {
	c := &cell{
		d: d, id: d.instance + "." + name, name: name, dir: d.folder(d.instance, name), program: p,
		abort: func() {}, up: make(chan struct{}), left: make(chan struct{}), exited: make(chan struct{}),
	}
	c.stdout = newOutput(c, func(s *streams) *os.File { return s.stdout })
	c.stderr = newOutput(c, func(s *streams) *os.File { return s.stderr })
	c.decide = sync.OnceFunc(func() { close(c.up) })
	return c
}

// ID returns the instance and the name, which is the runtime's id too.
func (c *cell) ID() string { return c.id }

// settle records how the cell ended. The first call counts.
func (c *cell) settle(exit sandbox.Exit, err error) {
	c.settled.Do(func() {
		c.exit, c.exitErr = exit, err
		close(c.exited)
	})
}

// Evidence implements [sandbox.Witness].
func (c *cell) Evidence() sandbox.Evidence {
	killed := false
	select {
	case <-c.exited:
		killed = c.exit.Code == killedCode
	default:
	}
	return c.group.Evidence(killed)
}

// killedCode is the exit code for a first process that SIGKILL ended.
const killedCode = 137

// Wait returns how the cell ended. It fails for a cell that did not start or was destroyed before its end was known.
func (c *cell) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-c.exited:
		return c.exit, c.exitErr
	default:
	}
	select {
	case <-c.exited:
		return c.exit, c.exitErr
	case <-ctx.Done():
		return sandbox.Exit{}, fmt.Errorf("wait for cell %s: %w", c.name, context.Cause(ctx))
	}
}

// Stdio returns the streams. Stdout and Stderr are io.Closers too: closing one drops the rest of it, and a cell that goes
// on writing there gets an error. Stdin can be written as soon as Start has returned. It promises to take nothing at once: a cell can
// open its own stdin, and fill it.
func (c *cell) Stdio() sandbox.Stdio {
	return sandbox.Stdio{
		Stdin:  (*input)(c),
		Stdout: c.stdout,
		Stderr: c.stderr,
	}
}

// output is one of a cell's streams. It can be read once the cell has started: until then, a runtime's own words are in it.
type output struct {
	c     *cell
	file  func(*streams) *os.File
	ended atomic.Bool

	once   sync.Once
	closed chan struct{} // by the reader
}

func newOutput(c *cell, file func(*streams) *os.File) *output {
	return &output{c: c, file: file, closed: make(chan struct{})}
}

func (o *output) open() *os.File {
	<-o.c.up
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	if o.c.streams == nil {
		return nil
	}
	return o.file(o.c.streams)
}

// Read ends with io.EOF when no process of the cell can write any more, and the cell has ended: one that closes its stdout
// and goes on is no other than one that says nothing.
func (o *output) Read(p []byte) (int, error) {
	f := o.open()
	if f == nil {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := f.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		o.ended.Store(true)
		_ = f.Close()
		select {
		case <-o.c.exited:
		case <-o.closed:
		}
	case o.ended.Load():
		err = io.EOF
	case errors.Is(err, os.ErrDeadlineExceeded): // as it is
	case err != nil:
		err = io.ErrUnexpectedEOF // closed by the reader
	}
	return n, err
}

// Interrupt implements [sandbox.Interruptible].
func (o *output) Interrupt(on bool) {
	var at time.Time
	if on {
		at = time.Unix(1, 0)
	}
	if f := o.open(); f != nil {
		_ = f.SetReadDeadline(at) // fails only when it is closed, and nobody waits for it
	}
}

func (o *output) Close() error {
	o.once.Do(func() { close(o.closed) })
	if f := o.open(); f != nil {
		_ = f.Close() // twice is fine
	}
	return nil
}

// input is the cell's stdin.
type input cell

func (i *input) Write(p []byte) (int, error) {
	i.mu.Lock()
	s, done := i.streams, i.stdinDone
	i.mu.Unlock()
	switch {
	case done:
		return 0, io.ErrClosedPipe
	case s == nil:
		return 0, errNotStarted
	}
	n, err := s.stdin.Write(p)
	if err != nil {
		return n, fmt.Errorf("stdin of cell %s: %w", i.name, err)
	}
	return n, nil
}

// Close delivers EOF to the process; before Start, as soon as it starts.
func (i *input) Close() error {
	i.mu.Lock()
	s, done := i.streams, i.stdinDone
	i.stdinDone = true
	i.mu.Unlock()
	if s != nil && !done {
		_ = s.stdin.Close()
	}
	return nil
}
