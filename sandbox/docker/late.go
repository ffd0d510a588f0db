package docker

import (
	"context"
	"time"
)

// undoLimit bounds clean-up that a caller waits for, and what Close waits for.
const undoLimit = 10 * time.Second

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

// undo removes a container whatever has become of ctx, which only bounds how long the caller waits for it. What cannot be
// removed is left to the sweep.
func (d *Driver) undo(ctx context.Context, id, what string) {
	done := make(chan struct{})
	remove := func(ctx context.Context) {
		defer close(done)
		ctx, cancel := context.WithTimeout(ctx, d.limits.Destroy)
		defer cancel()
		if err := d.remove(ctx, id, what); err != nil {
			d.log.Warn("container is left behind", "container", what, "err", err)
		}
	}
	if d.late(remove) != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
		defer cancel()
		remove(ctx)
		return
	}
	timer := time.NewTimer(undoLimit)
	defer timer.Stop()
	select {
	case <-done:
	case <-ctx.Done():
	case <-timer.C:
	}
}
