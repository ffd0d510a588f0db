package kubernetes

import (
	"context"
	"fmt"
	"time"

	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/sandbox"
)

// Start attaches to the gate, makes sure that it hears and is heard, and has it start the program.
func (c *cell) Start(ctx context.Context) error {
	if err := c.claim(); err != nil {
		return fmt.Errorf("start cell %s: %w", c.name, err)
	}
	err := c.start(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	err = fmt.Errorf("start cell %s: %w", c.name, err)
	c.settle(sandbox.Exit{}, err)
	c.quit()
	c.finish(errCut)
	return err
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
	l, reached, err := c.connect(ctx)
	if err != nil {
		return err
	}
	c.work.Go(func() { c.await(c.own) })
	op, done := context.WithTimeout(ctx, c.d.limits.Attach)
	defer done()
	if !reached {
		if err := c.greet(op, l, nil); err != nil {
			return err
		}
	}
	if err := l.send(seal.Go, nil); err != nil {
		return c.unsaid(ctx, err)
	}
	select {
	case err := <-c.begun:
		if err != nil {
			return err
		}
	case <-c.exited:
		if err := c.unbegun(); err != nil {
			return err
		}
	case <-op.Done():
		return c.unheard(ctx)
	}
	c.mu.Lock()
	c.line = l
	closed := c.stdinDone
	c.mu.Unlock()
	if closed {
		return l.send(seal.EOF, nil)
	}
	return nil
}

// connect returns the connection to the gate. Where that was reached before, it has answered.
func (c *cell) connect(ctx context.Context) (l *line, reached bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.destroyed:
		return nil, false, errDestroyed
	case c.early != nil:
		return c.early, true, nil
	}
	exec, err := c.d.api.attacher(c.name)
	if err != nil {
		return nil, false, err
	}
	c.own, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if l, err = c.attach(c.own, exec, c.broke); err != nil {
		c.cancel()
	}
	return l, false, err
}

// askAgain is how long an answer of the gate may take before it is asked again: what it says before its output is connected
// goes to the node's log alone.
const askAgain = 200 * time.Millisecond

// greet says the hello and has the gate answer. gone is closed when the connection has ended; where it is nil, c is told of that.
func (c *cell) greet(ctx context.Context, l *line, gone <-chan struct{}) error {
	said := make(chan error, 1)
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	c.work.Go(func() { said <- c.introduce(own, l) })
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for greeted := false; ; {
		select {
		case err := <-said:
			if err != nil && gone != nil {
				return err
			}
			if err != nil {
				return c.unsaid(ctx, err)
			}
			greeted = true
		case <-c.up:
			return nil
		case <-gone:
			return errCut
		case <-again.C:
			if greeted {
				greeted = false
				c.work.Go(func() { said <- l.send(seal.Ping, nil) })
			}
		case err := <-c.begun:
			return err
		case <-c.exited:
			return c.unbegun()
		case <-ctx.Done():
			return c.unheard(ctx)
		}
	}
}

// unbegun is for a cell that has ended before its program began.
func (c *cell) unbegun() error {
	select {
	case err := <-c.begun: // the gate said that it would not begin, or it was short
		return err
	default:
	}
	if c.exitErr != nil {
		return c.exitErr
	}
	if c.refusedLoader() {
		return fmt.Errorf("its node does not let it execute what is in memory alone: the next cell has an init container: %w", sandbox.ErrUnavailable)
	}
	return &sandbox.StartError{
		OOM: c.exit.Evidence.OOMKilled, Message: fmt.Sprintf("its first program ended with exit code %d before it had started another", c.exit.Code),
	}
}

// unsaid is for a hello that did not get through: why the connection ended says more.
func (c *cell) unsaid(ctx context.Context, err error) error {
	select {
	case <-c.exited:
		return c.unbegun()
	case <-ctx.Done():
		return c.unheard(ctx)
	case <-time.After(c.d.limits.Settle):
	}
	return fmt.Errorf("its first program cannot be spoken to: %s: %w", words(err), sandbox.ErrUnavailable)
}

func (c *cell) unheard(ctx context.Context) error {
	if ctx.Err() != nil && context.Cause(ctx) != context.DeadlineExceeded {
		return context.Cause(ctx)
	}
	return fmt.Errorf("its first program did not answer within %v: %w", c.d.limits.Attach, sandbox.ErrUnavailable)
}
