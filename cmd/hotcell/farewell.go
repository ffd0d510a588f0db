package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// parentEvery is how often a host on stdin looks whether whoever started it is still there.
const parentEvery = time.Second

// farewell ends a host on stdin and stdout with its client. A client that stops closes stdin, waits a little, sends SIGTERM,
// waits two seconds, and sends SIGKILL: so a signal after the end of stdin leaves no time for calls. One that is killed may
// leave its ends of the pipes to others, and nothing but its absence tells.
type farewell struct {
	parent func() int // the process that started this one
	every  time.Duration
	first  int
	once   sync.Once
	ended  chan struct{} // closed at the end of stdin
}

func newFarewell(parent func() int, every time.Duration) *farewell {
	return &farewell{parent: parent, every: every, first: parent(), ended: make(chan struct{})}
}

func (f *farewell) inputEnded() { f.once.Do(func() { close(f.ended) }) }

// watch kills the calls in flight when the client does not want them any more. The context that it returns ends with ctx, or
// with the client.
func (f *farewell) watch(ctx context.Context, s supervisor, log *slog.Logger) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		if f.orphaned(ctx, done) {
			log.Warn("the process that started this one has ended: calls in flight are killed")
			cancel()
			kill(s)
			return
		}
		if ctx.Err() == nil { // it is over by itself
			return
		}
		select {
		case <-f.ended:
			if !isClosed(done) {
				kill(s)
			}
		case <-done:
		}
	})
	return ctx, func() { close(done); watching.Wait(); cancel() }
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// orphaned waits for ctx's end, and reports true if the parent's came before.
func (f *farewell) orphaned(ctx context.Context, done <-chan struct{}) bool {
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	for f.parent() == f.first {
		select {
		case <-ctx.Done():
			return false
		case <-done:
			return false
		case <-tick.C:
		}
	}
	return true
}
