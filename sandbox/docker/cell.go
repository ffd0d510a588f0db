package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/outflow"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
)

var (
	errNotStarted = errors.New("cell has not started")
	errStarted    = errors.New("cell was started before")
	errDestroyed  = errors.New("cell is destroyed")
)

// cell is one container. It is created → started → ended, and destroyed from any of these.
type cell struct {
	d    *Driver
	id   string
	name string

	group *cgroup.Group // around it; nil: none

	stdout, stderr *outflow.Buffer

	mu        sync.Mutex
	started   bool
	destroyed bool
	stdinDone bool               // the caller has closed stdin
	stream    *stream            // while attached
	direct    *os.File           // stdin by a shorter way; nil: the stream's
	unwait    context.CancelFunc // ends the wait for the exit
	await     func()             // waits for it; nil before the start, and once it runs

	up      chan struct{} // closed when the engine has said that it started
	ended   chan struct{} // closed when the engine has told of the end
	settled sync.Once
	exited  chan struct{} // closed when exit and exitErr stand
	exit    sandbox.Exit
	exitErr error

	work sync.WaitGroup // the relay and the wait
}

var (
	_ sandbox.Sandbox = (*cell)(nil)
	_ sandbox.Witness = (*cell)(nil)
)

func newCell(d *Driver, id, name string, group *cgroup.Group) *cell {
	return &cell{
		d: d, id: id, name: name, group: group, stdout: outflow.New(), stderr: outflow.New(), unwait: func() {},
		up: make(chan struct{}), ended: make(chan struct{}), exited: make(chan struct{}),
	}
}

// ID returns the container's id.
func (c *cell) ID() string { return c.id }

// takes is a part of what the buffers of a socket hold, whether the engine reads or not.
const takes = 16 << 10

// Stdio returns the streams. Stdout and Stderr are io.Closers too: closing one drops the rest of it, so that the other
// goes on. Stdin can be written as soon as Start has returned.
func (c *cell) Stdio() sandbox.Stdio {
	return sandbox.Stdio{Stdin: (*input)(c), Stdout: c.stdout, Stderr: c.stderr, Takes: takes}
}

// settle records how the cell ended. The first call counts.
func (c *cell) settle(exit sandbox.Exit, err error) {
	c.settled.Do(func() {
		c.exit, c.exitErr = exit, err
		close(c.exited)
	})
}

// adopt makes an attached stream the cell's own and starts the relay, unless the cell has been destroyed meanwhile.
func (c *cell) adopt(s *stream) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.destroyed {
		return errDestroyed
	}
	c.stream = s
	c.work.Go(func() { c.relay(s) })
	return nil
}

// relay moves output from the engine to the readers until it ends. An end between two frames is the orderly one only if
// the cell's exit comes with it: an engine that dies ends its connections just so.
func (c *cell) relay(s *stream) {
	end := io.EOF
	err := demux(s.r, c.stdout, c.stderr)
	c.attend()
	if err != nil {
		c.d.log.Debug("cell output was cut", "cell", c.name, "err", err)
		end = io.ErrUnexpectedEOF
	} else if !c.endedWithin(c.d.limits.Settle) {
		c.d.log.Debug("cell output ended without an exit", "cell", c.name)
		end = io.ErrUnexpectedEOF
	}
	c.stdout.Finish(end)
	c.stderr.Finish(end)
	_ = s.conn.Close()
}

// endedWithin reports whether the engine told of the cell's end, waiting for it.
func (c *cell) endedWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.ended:
		return true
	case <-c.exited: // found out otherwise, or not at all
		return c.exitErr == nil
	case <-timer.C:
		return false
	}
}

// disconnect closes the streams. What has been received can still be read.
func (c *cell) disconnect() {
	c.mu.Lock()
	s, direct := c.stream, c.direct
	c.mu.Unlock()
	if direct != nil {
		_ = direct.Close() // perhaps once more
	}
	c.stdout.Finish(io.ErrUnexpectedEOF)
	c.stderr.Finish(io.ErrUnexpectedEOF)
	if s != nil {
		_ = s.conn.Close()
	}
}

// input is the cell's stdin.
type input cell

func (i *input) Write(p []byte) (int, error) {
	i.mu.Lock()
	s, direct, done := i.stream, i.direct, i.stdinDone
	i.mu.Unlock()
	switch {
	case done:
		return 0, io.ErrClosedPipe
	case s == nil:
		return 0, errNotStarted
	}
	n, err := 0, error(nil)
	if direct != nil {
		n, err = push(direct, p)
	}
	if err == nil && n < len(p) {
		i.detour(direct)
		var rest int
		rest, err = s.conn.Write(p[n:])
		n += rest
	}
	if err != nil {
		return n, fmt.Errorf("stdin of cell %s: %w", i.name, err)
	}
	return n, nil
}

// detour gives the shorter way up: what the pipe does not take at once, and all behind it, goes by way of the engine, which
// may wait for the cell.
func (i *input) detour(direct *os.File) {
	if direct == nil {
		return
	}
	i.mu.Lock()
	i.direct = nil
	i.mu.Unlock()
	_ = direct.Close()
}

// Close delivers EOF to the process; before Start, as soon as it starts.
func (i *input) Close() error {
	i.mu.Lock()
	s, direct, done := i.stream, i.direct, i.stdinDone
	i.stdinDone = true
	i.mu.Unlock()
	if s == nil || done {
		return nil
	}
	if direct != nil {
		_ = direct.Close()
	}
	_ = s.closeWrite() // fails only when the connection is gone, and stdin with it
	return nil
}
