package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/hotcell/hotcell/sandbox"
)

// Start attaches, registers the wait, and only then starts the process, so that neither its first byte nor its exit can
// be missed. When it fails, or ctx ends, the engine may still start the container later: Destroy kills it then.
func (c *cell) Start(ctx context.Context) error {
	if err := c.claim(); err != nil {
		return fmt.Errorf("start cell %s: %w", c.name, err)
	}
	if err := c.start(ctx); err != nil {
		c.mu.Lock()
		unwait := c.unwait
		c.mu.Unlock()
		c.settle(sandbox.Exit{}, err)
		unwait()
		c.disconnect()
		return err
	}
	c.mu.Lock()
	s, closed := c.stream, c.stdinDone
	c.mu.Unlock()
	if closed {
		_ = s.closeWrite()
	}
	return nil
}

func (c *cell) claim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.destroyed:
		return errDestroyed
	case c.started:
		return errStarted
	}
	c.started = true
	return nil
}

func (c *cell) start(ctx context.Context) error {
	s, err := c.d.attach(ctx, c.id)
	if err != nil {
		return fmt.Errorf("start cell %s: %w", c.name, err)
	}
	if err := c.adopt(s); err != nil {
		_ = s.conn.Close()
		return fmt.Errorf("start cell %s: %w", c.name, err)
	}
	if err := c.watch(ctx); err != nil {
		return err
	}
	op, cancel := context.WithTimeout(ctx, c.d.limits.Start)
	defer cancel()
	c.group.Starting(c.id)
	err = c.d.containers.ContainerStart(op, c.id, container.StartOptions{})
	switch {
	case err == nil:
		c.group.Started()
		close(c.up)
		return nil
	case gone(err):
		return c.d.explain(ctx, "start cell "+c.name, err)
	case errdefs.IsNotFound(err) && contains(words(err), "No such container"):
		return c.d.vanished(c.name)
	}
	return c.proven(startError(err))
}

// startError reads the engine's words: its status tells nothing, and its exit code is not in the answer.
func startError(err error) *sandbox.StartError {
	text := words(err)
	e := &sandbox.StartError{Message: text, OOM: strings.Contains(text, "OOM-killed")}
	switch {
	case contains(text, "permission denied", "is a directory", "not a directory", "exec format error"):
		e.ExitCode = 126
	case contains(text, "executable file not found", "no such file or directory"):
		e.ExitCode = 127
	}
	return e
}

func contains(text string, parts ...string) bool {
	for _, s := range parts {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// watch registers for the next exit. The condition must be next-exit: a container that has not started yet is "not-running"
// already.
func (c *cell) watch(ctx context.Context) error {
	waitCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w, err := c.register(waitCtx, ctx, container.WaitConditionNextExit)
	if err != nil {
		cancel()
		if errdefs.IsNotFound(err) {
			return c.d.vanished(c.name)
		}
		return c.d.explain(ctx, "wait for cell "+c.name, err)
	}
	if !c.begin(cancel, func() { c.awaitEnd(waitCtx, w) }) {
		cancel()
		_, _ = w.take()
		return fmt.Errorf("start cell %s: %w", c.name, errDestroyed)
	}
	return nil
}

// begin has [cell.attend] run await, unless the cell is destroyed.
func (c *cell) begin(cancel context.CancelFunc, await func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.destroyed {
		return false
	}
	c.unwait = cancel
	c.await = func() {
		defer cancel()
		await()
	}
	return true
}

// attend has a goroutine wait for the cell's end from now on. Nobody needs it while a cell only waits for its call, which may be
// long: one that ends meanwhile ends its streams too.
func (c *cell) attend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attendLocked()
}

func (c *cell) attendLocked() {
	if c.await != nil {
		c.work.Go(c.await)
		c.await = nil
	}
}
