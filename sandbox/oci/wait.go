package oci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"golang.org/x/sys/unix"
)

// await reaps the cell's first process and settles the cell. The kernel ends all others of its pid namespace first.
func (c *cell) await() {
	status, err := c.reap()
	if err != nil {
		c.settle(sandbox.Exit{}, unavailable("wait for cell %s: %v", c.name, err))
		return
	}
	exit := sandbox.Exit{Code: status.ExitStatus(), At: time.Now()}
	if status.Signaled() {
		exit.Code = 128 + int(status.Signal())
	}
	killed, look := status.Signaled() && status.Signal() == unix.SIGKILL, c.group.Ended
	if c.program.name == "runsc" { // the first of several
		look = c.group.Evidence
	}
	exit.Evidence = look(killed)
	c.settle(exit, nil)
}

// reap waits in the poller, not in a thread of its own.
func (c *cell) reap() (status unix.WaitStatus, err error) {
	raw, err := c.pidfd.SyscallConn()
	if err != nil {
		return 0, err
	}
	var waitErr error
	err = raw.Read(func(uintptr) bool {
		for {
			n, err := unix.Wait4(c.pid, &status, unix.WNOHANG, nil)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			waitErr = os.NewSyscallError("wait4", err)
			return n == c.pid || err != nil
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.pidfd.Close()
	c.pidfd = nil
	return status, errors.Join(err, waitErr)
}

// signal sends SIGKILL to the cell's first process, if it runs. The kernel ends all others of its pid namespace.
func (c *cell) signal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pidfd == nil {
		return nil
	}
	raw, err := c.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) })
	if errors.Is(sent, unix.ESRCH) {
		sent = nil
	}
	return errors.Join(err, os.NewSyscallError("pidfd_send_signal", sent))
}

// Kill ends all of the cell's processes, and returns when the end is seen, or ctx ends.
func (c *cell) Kill(ctx context.Context) error {
	c.mu.Lock()
	claimed, starting, abort := c.claimed, c.pid == 0, c.abort
	c.mu.Unlock()
	switch {
	case !claimed:
		return nil
	case starting: // there is nothing to signal yet
		abort()
	}
	if err := c.signal(); err != nil {
		return fmt.Errorf("kill cell %s: %w", c.name, err)
	}
	return c.dead(ctx)
}

// dead waits for the end of a cell that was killed, and does it the hard way when that takes long.
func (c *cell) dead(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.d.limits.Kill)
	defer cancel()
	hard := time.NewTimer(c.d.limits.Direct)
	defer hard.Stop()
	for {
		select {
		case <-c.exited:
			return nil
		case <-hard.C:
			if err := c.group.Kill(); err != nil {
				c.d.log.Warn("cell does not die", "cell", c.name, "err", err)
			}
		case <-ctx.Done():
			return fmt.Errorf("kill cell %s: it does not die: %w", c.name, context.Cause(ctx))
		}
	}
}

// Destroy kills the cell if it runs, and removes its group and its folder. After an error it may be called again.
func (c *cell) Destroy(ctx context.Context) error {
	c.mu.Lock()
	c.destroyed = true
	claimed, abort := c.claimed, c.abort
	c.mu.Unlock()
	abort()
	if claimed {
		<-c.left
		_ = c.signal()
		if err := c.dead(ctx); err != nil {
			return err
		}
	}
	c.settle(sandbox.Exit{}, fmt.Errorf("cell %s: %w", c.name, errDestroyed))
	if err := c.group.Remove(); err != nil { // which kills what is left
		return err
	}
	c.work.Wait()
	c.reapOrphans()
	c.disconnect()
	if err := c.dir.remove(); err != nil {
		return err
	}
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	delete(c.d.cells, c.id)
	return nil
}

// disconnect closes stdin and lets readers go: what the cell has written can still be read, to its end, for nobody is left
// who could write more.
func (c *cell) disconnect() {
	c.mu.Lock()
	s := c.streams
	c.mu.Unlock()
	if s != nil {
		_ = s.stdin.Close()
	}
	c.decide()
}

// findOrphans notes which processes in the cell's group are children of this one.
func (c *cell) findOrphans() {
	for _, pid := range c.group.Processes() {
		if parentOf(pid) == os.Getpid() && pid != c.pid {
			c.mu.Lock()
			c.orphans = append(c.orphans, pid)
			c.mu.Unlock()
		}
	}
}

// reapOrphans takes the dead off the kernel's list. They are children of this process, so that their numbers are still
// theirs.
func (c *cell) reapOrphans() {
	c.mu.Lock()
	orphans, lost := c.orphans, c.lost
	c.orphans, c.lost = nil, nil
	c.mu.Unlock()
	for _, pid := range orphans {
		_, _ = unix.Wait4(pid, nil, 0, nil)
	}
	bury(lost)
}
