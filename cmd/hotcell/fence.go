package main

import (
	"context"
	"errors"
	"sync"
)

var errFenced = errors.New("other supervisors have declared this one dead, since the store did not hear of it for too long: start it again")

// fence ends a daemon that others have declared dead: its cells are destroyed, and its calls have their answers already. It is
// over when stop is called.
func fence(ctx context.Context, sys *system) (_ context.Context, stop func()) {
	if sys.lost == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-sys.lost:
			cancel(errFenced)
			kill(sys.supervisor)
		case <-done:
		}
	})
	return ctx, func() {
		close(done)
		watch.Wait()
		cancel(nil)
	}
}

// whyFenced is the error of a daemon that was fenced, nil for others.
func whyFenced(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, errFenced) {
		return err
	}
	return nil
}
