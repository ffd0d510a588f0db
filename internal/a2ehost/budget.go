package a2ehost

import (
	"context"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// memoryWait is how long a session waits, without reading, for memory that others hold. That it ends is what keeps
// sessions that wait for each other from doing so for ever.
const memoryWait = 5 * time.Second

// budget is the memory that the unfinished lines of all sessions share, beyond what each may always hold.
type budget struct {
	mu    sync.Mutex
	free  int           // bytes
	freed chan struct{} // closed, and made anew, when free has grown
}

func newBudget(bytes int) *budget { return &budget{free: bytes, freed: make(chan struct{})} }

// lend is the budget for one session, until ctx ends.
func (b *budget) lend(ctx context.Context) a2e.Memory {
	return a2e.Memory{Take: func(n int) error { return b.take(ctx, n) }, Give: b.give}
}

func (b *budget) take(ctx context.Context, n int) error {
	late := time.NewTimer(memoryWait)
	defer late.Stop()
	for {
		freed := b.try(n)
		if freed == nil {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return a2e.Errorf(a2e.RuntimeError, "too many long lines are being received: closing, try again later").
				Because(a2e.ReasonQueueFull).Transient()
		}
	}
}

// try takes n bytes and returns nil, or what to wait for.
func (b *budget) try(n int) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.free {
		return b.freed
	}
	b.free -= n
	return nil
}

func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
	close(b.freed)
	b.freed = make(chan struct{})
}
