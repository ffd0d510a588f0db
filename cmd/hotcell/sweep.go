package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	sweepAfter = 500 * time.Millisecond // a short call is not slowed down
	sweepExtra = time.Second            // how long a command waits for its sweep after everything else
)

// sweepBeside removes what dead supervisors left behind, and what the journal has kept long enough, while a command does its
// own work: half a second after its start, or once the work is done if that comes first. The first function says that it is
// done, the second waits for the end, not for long: what is left then is the next command's.
func sweepBeside(ctx context.Context, s supervisor, log *slog.Logger) (done, end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	work, swept := make(chan struct{}), make(chan struct{})
	go func() { // end waits for it
		defer close(swept)
		select {
		case <-work:
		case <-time.After(sweepAfter):
		}
		var trim sync.WaitGroup
		trim.Go(func() {
			if err := s.Trim(ctx); err != nil {
				log.Debug("the journal was not trimmed to its end", "error", err)
			}
		})
		if err := s.Sweep(ctx); err != nil {
			log.Debug("not all that is left behind could be removed", "error", err)
		}
		trim.Wait()
	}()
	return sync.OnceFunc(func() { close(work) }), func() {
		select {
		case <-swept:
		case <-time.After(sweepExtra):
		}
		cancel()
		<-swept
	}
}
