package curator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// freshFor is how old a picture of the store may get: what another process wrote is seen after that.
const freshFor = 500 * time.Millisecond

// sight is a picture of what the store has that is fresh enough. Nobody waits for the store to be asked but who asks it.
type sight[P any] struct {
	// update returns what the store has, from what was known before: nil is nothing.
	update func(ctx context.Context, old *P) (*P, error)

	mu    sync.Mutex // held while looking
	seen  atomic.Pointer[P]
	until atomic.Int64 // unix nanoseconds until which seen is fresh
}

// look returns a picture that is fresh enough. While one caller looks, the others go on with what is known.
func (s *sight[P]) look(ctx context.Context) (*P, error) {
	p := s.seen.Load()
	if p != nil && (time.Now().UnixNano() < s.until.Load() || !s.mu.TryLock()) {
		return p, nil
	}
	if p == nil {
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if p = s.seen.Load(); p != nil && time.Now().UnixNano() < s.until.Load() {
		return p, nil
	}
	return s.renew(ctx)
}

// again has everybody see what was just written.
func (s *sight[P]) again(ctx context.Context) {
	ctx, cancel := brief(ctx)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.renew(ctx); err != nil {
		s.seen.Store(nil) // nobody goes on with what is known to be old
	}
}

// renew takes over what has changed. The caller holds mu.
func (s *sight[P]) renew(ctx context.Context) (*P, error) {
	began := time.Now()
	next, err := s.update(ctx, s.seen.Load())
	if err != nil {
		return nil, err
	}
	s.seen.Store(next)
	s.until.Store(began.Add(freshFor).UnixNano())
	return next, nil
}
