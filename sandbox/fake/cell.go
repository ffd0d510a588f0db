package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

var (
	errStarted   = errors.New("cell was started before")
	errDestroyed = errors.New("cell is destroyed")
	errKilled    = errors.New("cell is killed")
)

// cell is one goroutine at most.
type cell struct {
	d       *Driver
	id      string
	spec    *sandbox.Spec
	labels  map[string]string
	faults  Faults
	created time.Time

	stdin          *pipe
	stdout, stderr *pipe

	ctx  context.Context // of the program; ends with Kill
	kill context.CancelCauseFunc

	mu        sync.Mutex
	started   bool
	running   bool
	destroyed bool
	failures  int // of Destroy, so far

	settled sync.Once
	done    chan struct{}
	exit    sandbox.Exit
	exitErr error

	work sync.WaitGroup // run
}

func newCell(d *Driver, id string, spec *sandbox.Spec, labels map[string]string, faults Faults) *cell {
	c := &cell{
		d: d, id: id, spec: spec, labels: labels, faults: faults, created: time.Now(),
		stdin: newPipe(), stdout: newPipe(), stderr: newPipe(), done: make(chan struct{}),
	}
	if faults.CutStdout > 0 {
		c.stdout.cut = faults.CutStdout
	}
	c.ctx, c.kill = context.WithCancelCause(context.Background())
	return c
}

func (c *cell) ID() string { return c.id }

func (c *cell) Stdio() sandbox.Stdio {
	return sandbox.Stdio{Stdin: stdin{c}, Stdout: c.stdout, Stderr: c.stderr, Settles: c.faults.Settles + time.Second}
}

func (c *cell) state() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.running:
		return "running"
	case c.started:
		return "exited"
	}
	return "created"
}

// Start runs the program in a goroutine that ends with the cell.
func (c *cell) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case c.destroyed:
		return errDestroyed
	case c.started:
		return errStarted
	}
	c.started = true
	var failure error
	if c.faults.Start != nil {
		failure = c.faults.Start(c.spec)
	}
	if failure != nil && !c.faults.StartsAnyhow {
		c.stdout.finish(io.ErrUnexpectedEOF)
		c.stderr.finish(io.ErrUnexpectedEOF)
		c.settle(sandbox.Exit{}, failure)
		return failure
	}
	c.running = true
	c.d.mu.Lock()
	c.d.stats.Started++
	c.d.mu.Unlock()
	c.work.Go(c.run)
	return failure
}

func (c *cell) run() {
	code := c.d.program(c.ctx, c.spec, c.stdin, c.stdout, c.stderr)
	if c.ctx.Err() != nil {
		code = 137
	}
	c.mu.Lock()
	c.running = false
	c.mu.Unlock()
	exit := sandbox.Exit{Code: code, Evidence: sandbox.Evidence{OOMKilled: c.faults.OOMKilled, Confidence: "engine"}, At: time.Now()}
	if c.faults.EngineGone {
		c.stdout.finish(io.ErrUnexpectedEOF)
		c.stderr.finish(io.ErrUnexpectedEOF)
		c.settle(sandbox.Exit{}, fmt.Errorf("wait for cell %s: %w", c.spec.Name, sandbox.ErrUnavailable))
		return
	}
	c.stdout.finish(io.EOF)
	c.stderr.finish(io.EOF)
	if late := c.faults.Settles; late > 0 {
		timer := time.NewTimer(late)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.ctx.Done():
		}
	}
	c.settle(exit, nil)
}

func (c *cell) settle(exit sandbox.Exit, err error) {
	c.settled.Do(func() {
		c.exit, c.exitErr = exit, err
		close(c.done)
	})
}

func (c *cell) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-c.done:
		return c.exit, c.exitErr
	case <-ctx.Done():
		return sandbox.Exit{}, context.Cause(ctx)
	}
}

func (c *cell) Kill(ctx context.Context) error {
	if c.faults.KillBlocks {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	c.stop()
	return nil
}

// stop ends the program: its context, its input, and its output as far as nobody has read it.
func (c *cell) stop() {
	c.mu.Lock()
	running := c.running
	c.mu.Unlock()
	if !running {
		return
	}
	c.kill(errKilled)
	c.stdin.finish(errKilled)
	c.stdout.refuse()
	c.stderr.refuse()
}

func (c *cell) Destroy(ctx context.Context) error {
	c.mu.Lock()
	if c.failures < c.faults.DestroyFails {
		c.failures++
		c.mu.Unlock()
		return fmt.Errorf("destroy cell %s: fault %d of %d", c.spec.Name, c.failures, c.faults.DestroyFails)
	}
	c.mu.Unlock()
	return c.end(ctx)
}

// end stops the cell, waits for its goroutine and forgets it.
func (c *cell) end(ctx context.Context) error {
	c.mu.Lock()
	c.destroyed = true
	running := c.running
	c.mu.Unlock()
	c.stop()
	if running {
		select {
		case <-c.done:
		case <-ctx.Done():
			return fmt.Errorf("destroy cell %s: its program does not return: %w", c.spec.Name, context.Cause(ctx))
		}
	}
	c.work.Wait()
	c.kill(errDestroyed)
	c.stdin.finish(errDestroyed)
	c.stdout.finish(io.ErrUnexpectedEOF)
	c.stderr.finish(io.ErrUnexpectedEOF)
	c.settle(sandbox.Exit{}, errDestroyed)
	c.d.drop(c.id)
	return nil
}

// stdin is the caller's end of the cell's input.
type stdin struct{ c *cell }

func (s stdin) Write(p []byte) (int, error) { return s.c.stdin.Write(p) }

func (s stdin) Close() error {
	s.c.stdin.finish(io.EOF)
	return nil
}
