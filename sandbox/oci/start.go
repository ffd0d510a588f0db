package oci

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"golang.org/x/sys/unix"
)

// Start has the runtime make the cell, reads its limits back, and only then lets its process run.
func (c *cell) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.d.limits.Start)
	defer cancel()
	if err := c.claim(cancel); err != nil {
		return fmt.Errorf("start cell %s: %w", c.name, err)
	}
	defer close(c.left)
	if err := c.start(ctx); err != nil {
		c.fail(err)
		return err
	}
	c.mu.Lock()
	s, closed := c.streams, c.stdinDone
	c.mu.Unlock()
	if closed {
		_ = s.stdin.Close()
	}
	c.decide()
	return nil
}

func (c *cell) claim(abort context.CancelFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.destroyed:
		return errDestroyed
	case c.claimed:
		return errStarted
	}
	c.claimed, c.abort = true, abort
	return nil
}

// fail ends a start that did not succeed. What a runtime has made of the cell is killed; Destroy removes it.
func (c *cell) fail(err error) {
	c.settle(sandbox.Exit{}, err)
	c.findOrphans()
	_ = c.signal()
	_ = c.group.Kill() // of a cell that had no process yet: nothing
	c.mu.Lock()
	s := c.streams
	c.streams = nil
	c.mu.Unlock()
	if s != nil {
		s.close()
	}
	c.decide()
}

func (c *cell) start(ctx context.Context) error {
	ours, theirs, err := openStreams()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.streams = ours
	c.mu.Unlock()
	c.group.Starting(c.id)
	err = c.create(ctx, theirs)
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		return err
	}
	if err := c.adopt(); err != nil {
		return err
	}
	if c.program.name == "runsc" {
		c.findOrphans() // who serves the sandbox its files
	}
	if err := c.group.Check(c.limits); err != nil {
		return unsupported("start cell %s: %v", c.name, err)
	}
	if err := c.release(ctx); err != nil {
		return err
	}
	c.group.Started()
	return nil
}

// create runs the runtime's create: afterwards the cell's first process is there and waits.
func (c *cell) create(ctx context.Context, stdio [3]*os.File) error {
	args := []string{"create", "--bundle", string(c.dir)}
	if c.program.name != "runc" { // it writes this file through to the disk, and the same into its state before
		args = append(args, "--pid-file", c.dir.pid())
	}
	cmd := c.program.command(ctx, c, append(args, c.id)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdio[0], stdio[1], stdio[2]
	cmd.SysProcAttr = ownGroup()
	err := c.timed(ctx, "runtime_create", cmd.Run)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("start cell %s: %w", c.name, context.Cause(ctx))
	}
	text := complaint(c.dir.log())
	if text == "" {
		return unavailable("start cell %s: %s: %v", c.name, c.program.path, err)
	}
	return c.proven(startError(strings.TrimPrefix(text, c.program.name+" create failed: ")))
}

// proven corrects a start error by what the kernel counted: memory that ran out above the cell is not the cell's doing.
func (c *cell) proven(e *sandbox.StartError) *sandbox.StartError {
	ev := c.group.Evidence(e.OOM)
	if ev.Confidence == sandbox.ConfidenceKernel {
		e.OOM = ev.OOMKilled || e.OOM && !ev.Pressure
	}
	return e
}

// adopt takes over the cell's first process, which is this process's child since the runtime has left.
func (c *cell) adopt() error {
	p, err := c.dir.process()
	if err != nil {
		return unavailable("start cell %s: %s has written no process id: %v", c.name, c.program.name, err)
	}
	if _, birth, ok := lookUp(p.pid); ok && p.birth == "" {
		if err := os.WriteFile(c.dir.birth(), []byte(birth), 0o600); err != nil {
			return err
		}
	}
	fd, err := unix.PidfdOpen(p.pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return unavailable("start cell %s: process %d: %v", c.name, p.pid, os.NewSyscallError("pidfd_open", err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pidfd, c.pid = os.NewFile(uintptr(fd), "pidfd of "+c.name), p.pid
	c.work.Go(c.await)
	return nil
}

// release lets the process that waits run.
func (c *cell) release(ctx context.Context) error {
	if c.program.name == "runc" {
		return c.unblock(ctx)
	}
	cmd := c.program.command(ctx, c, "start", c.id)
	cmd.SysProcAttr = ownGroup()
	if err := c.timed(ctx, "runtime_start", cmd.Run); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("start cell %s: %w", c.name, context.Cause(ctx))
		}
		return c.proven(startError(complaint(c.dir.log())))
	}
	return nil
}

// unblock does what runc start does, without a process: the cell's first one waits until somebody opens this pipe, and
// says a byte.
func (c *cell) unblock(ctx context.Context) error {
	path := filepath.Join(c.dir.state(), c.id, "exec.fifo")
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return unavailable("start cell %s: runc's state: %v", c.name, err)
	}
	defer func() { _ = f.Close() }() // read only
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	stop := func() { _ = f.SetReadDeadline(time.Now()) } // what is in the pipe stays there
	defer context.AfterFunc(ctx, stop)()
	over := make(chan struct{})
	defer close(over)
	c.work.Go(func() {
		select {
		case <-c.exited:
			stop()
		case <-over:
		}
	})
	n := 0
	look := func(fd uintptr) bool {
		var b [1]byte
		n, _ = unix.Read(int(fd), b[:])
		return n > 0
	}
	if err = raw.Read(look); err != nil {
		err = raw.Control(func(fd uintptr) { look(fd) }) // it may have come, and the process have ended since
	}
	switch {
	case n <= 0 && ctx.Err() != nil:
		return fmt.Errorf("start cell %s: %w", c.name, context.Cause(ctx))
	case err != nil || n <= 0:
		return c.proven(&sandbox.StartError{Message: "its first process died before it ran"})
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ownGroup keeps a terminal's signals from a runtime and its cells. A session would do so too, but kernels that share the
// processor out by sessions (sched_autogroup) let a new one wait for its first turn behind all others of a busy host.
func ownGroup() *unix.SysProcAttr { return &unix.SysProcAttr{Setpgid: true} }

// timed runs a runtime and tells how that went. What its caller broke off tells nothing.
func (c *cell) timed(ctx context.Context, operation string, run func() error) error {
	began := time.Now()
	err := run()
	if c.d.watch != nil {
		fault := ""
		switch {
		case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
			fault = "timeout"
		case err != nil && ctx.Err() == nil:
			fault = "engine"
		}
		c.d.watch.Asked(operation, fault, time.Since(began))
	}
	return err
}
