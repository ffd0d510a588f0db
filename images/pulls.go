package images

import (
	"context"
	"errors"
	"sync"
	"time"
)

// linger is how long a pull goes on that nobody waits for any more: a caller who comes again finds it there.
const linger = 10 * time.Second

// ErrClosed says that a store was closed.
var ErrClosed = errors.New("image store is closed")

// ErrTooLong is the cause of the end of a pull that took longer than it may.
var ErrTooLong = errors.New("the pull took too long")

// errAlone is the cause of the end of a pull that nobody waits for.
var errAlone = errors.New("nobody waits for the pull any more")

// Pulls lets callers who want the same image at the same time share one pull. It belongs to none of them: it goes on when one
// leaves, the first too, and ends when it is done, after its limit, a while after the last has left, or with Close.
type Pulls struct {
	limit, linger time.Duration

	mu     sync.Mutex
	closed bool
	flying map[string]*flight
	work   sync.WaitGroup
}

// flight is a pull on its way.
type flight struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error

	mu        sync.Mutex // held while listeners are told
	listeners map[int]func(Progress)
	last      Progress
	told      bool

	waiters int // under Pulls.mu
	next    int
	alone   *time.Timer
}

// NewPulls returns no pulls yet. limit is for each.
func NewPulls(limit time.Duration) *Pulls {
	return &Pulls{limit: limit, linger: linger, flying: map[string]*flight{}}
}

// Do waits for the pull of that key, which it begins where there is none. The listener of ctx hears how it goes. The error of
// who leaves is the cause of its context's end.
func (p *Pulls) Do(ctx context.Context, key string, pull func(ctx context.Context, tell func(Progress)) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	Waits(ctx)
	f, id, err := p.join(key, listenerOf(ctx), pull)
	if err != nil {
		return err
	}
	defer p.leave(key, f, id)
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *Pulls) join(key string, listen func(Progress), pull func(context.Context, func(Progress)) error) (*flight, int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, 0, ErrClosed
	}
	f := p.flying[key]
	if f == nil {
		f = p.begin(key, pull)
	}
	if f.alone != nil {
		f.alone.Stop()
		f.alone = nil
	}
	f.waiters++
	f.next++
	if listen != nil {
		f.hear(f.next, listen)
	}
	return f, f.next, nil
}

// begin starts a pull. The caller holds the lock.
func (p *Pulls) begin(key string, pull func(context.Context, func(Progress)) error) *flight {
	ctx, cancel := context.WithCancelCause(context.Background())
	ctx, stop := context.WithTimeoutCause(ctx, p.limit, ErrTooLong)
	f := &flight{cancel: cancel, done: make(chan struct{}), listeners: map[int]func(Progress){}}
	p.flying[key] = f
	p.work.Go(func() {
		defer cancel(nil)
		defer stop()
		f.err = pull(ctx, f.tell)
		p.mu.Lock()
		if p.flying[key] == f {
			delete(p.flying, key)
		}
		if f.alone != nil {
			f.alone.Stop()
		}
		p.mu.Unlock()
		close(f.done)
	})
	return f
}

func (p *Pulls) leave(key string, f *flight, id int) {
	f.mu.Lock()
	delete(f.listeners, id)
	f.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.waiters--; f.waiters > 0 || p.flying[key] != f {
		return
	}
	f.alone = time.AfterFunc(p.linger, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if f.waiters > 0 || p.flying[key] != f {
			return
		}
		delete(p.flying, key) // who comes now begins anew
		f.cancel(errAlone)
	})
}

// Waiting returns how many callers wait for pulls.
func (p *Pulls) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, f := range p.flying {
		n += f.waiters
	}
	return n
}

// Close ends all pulls and waits for that.
func (p *Pulls) Close() {
	p.mu.Lock()
	p.closed = true
	for _, f := range p.flying {
		f.cancel(ErrClosed)
	}
	p.mu.Unlock()
	p.work.Wait()
}

// hear tells a listener where the pull is, and from then on how it goes.
func (f *flight) hear(id int, listen func(Progress)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners[id] = listen
	if f.told {
		listen(f.last)
	}
}

func (f *flight) tell(now Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last, f.told = now, true
	for _, listen := range f.listeners {
		listen(now)
	}
}
