package kubernetes

import (
	"context"
	"sync/atomic"
)

// turn is had by one at a time. Whoever waits for it can give up: what is done meanwhile may ask a cluster that does not answer.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turn) leave() { <-t }

// once does something until it has worked.
type once struct {
	turn
	done atomic.Bool
}

func (o *once) do(ctx context.Context, f func() error) error {
	if o.done.Load() {
		return nil
	}
	if err := o.take(ctx); err != nil {
		return err
	}
	defer o.leave()
	if o.done.Load() {
		return nil
	}
	err := f()
	o.done.Store(err == nil)
	return err
}

// again has it done anew.
func (o *once) again() { o.done.Store(false) }
