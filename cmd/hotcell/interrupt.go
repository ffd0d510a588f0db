package main

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"
)

// interruptible runs do under a context that the first signal cancels. The second destroys the cells that are left; a
// third ends the process, as if nothing listened. It returns how many signals came, 2 at most. Where hangUp is not nil,
// SIGHUP only calls it.
func (a *app) interruptible(ctx context.Context, s supervisor, hangUp func(), do func(ctx context.Context)) int {
	signals := make(chan os.Signal, 2)
	stop := a.notify(signals)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	count := 0
	var watch sync.WaitGroup
	done := make(chan struct{})
	watch.Go(func() {
		for count < 2 {
			select {
			case <-done:
				return
			case got := <-signals:
				if got == syscall.SIGHUP && hangUp != nil {
					hangUp()
					continue
				}
			}
			if count++; count == 1 {
				cancel()
				continue
			}
			stop()
			kill(s)
		}
	})
	do(ctx)
	close(done)
	watch.Wait()
	return count
}

// kill destroys all cells now: a drain that has no time left.
func kill(s supervisor) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Drain(ctx) // it says that its time is over
}

// drain waits until the clean-up of what has been answered is done. A signal that has cancelled ctx doesn't cut it
// short: the next one does.
func drain(ctx context.Context, s supervisor, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	if err := s.Drain(ctx); err != nil {
		log.Warn("clean-up is not complete", "after", cleanUp.Round(time.Second), "error", err)
	}
}
