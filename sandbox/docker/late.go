package docker

import (
	"context"
	"errors"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// How long a caller waits for clean-up, and Close for what is late; and the pause before an engine that was not there is
// tried again.
const (
	undoLimit = 10 * time.Second
	undoPause = time.Second
)

// late runs what must be done whatever becomes of who asked for it: the engine does what it was asked for, though nobody
// waits any more. f gets a context that ends when the driver is closed and cannot wait longer.
func (d *Driver) late(f func(ctx context.Context)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errClosed
	}
	d.lates.Go(func() { f(d.lateCtx) })
	return nil
}

// undo removes a container, as [Driver.insist] does.
func (d *Driver) undo(ctx context.Context, id, what string) {
	d.insist(ctx, what, func(ctx context.Context) error { return d.remove(ctx, id, what) })
}

// insist cleans up, whatever has become of ctx, which only bounds how long the caller waits for a first try. While the
// engine is not there it is tried again. What does not work at all is left to the sweep.
func (d *Driver) insist(ctx context.Context, what string, clean func(ctx context.Context) error) {
	tried := make(chan struct{})
	again := func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, d.limits.Destroy)
		defer cancel()
		err := clean(ctx)
		close(tried)
		for errors.Is(err, sandbox.ErrUnavailable) && sleep(ctx, undoPause) == nil {
			err = clean(ctx)
		}
		if err != nil {
			d.log.Warn("container is left behind", "container", what, "err", err)
		}
	}
	if d.late(again) != nil { // the driver is closing: now or never
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
		defer cancel()
		if err := clean(ctx); err != nil {
			d.log.Warn("container is left behind", "container", what, "err", err)
		}
		return
	}
	timer := time.NewTimer(undoLimit)
	defer timer.Stop()
	select {
	case <-tried:
	case <-ctx.Done():
	case <-timer.C:
	}
}
