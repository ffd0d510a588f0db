package auth

import (
	"context"
	"sync"
)

// Shares divide something that all callers use between principals, so that none of them can keep the others from it. It is safe
// for concurrent use.
type Shares struct {
	most, each int64

	mu    sync.Mutex
	held  map[string]int64 // by principal; those that hold nothing are absent
	all   int64
	given chan struct{} // closed, and made anew, when something was given back
}

// NewShares makes shares of which there are most, and of which a principal may hold each. Who has no principal may hold all
// of them: nobody can be told from another then.
func NewShares(most, each int64) *Shares {
	return &Shares{most: most, each: each, held: map[string]int64{}, given: make(chan struct{})}
}

// Take takes n shares for a principal until give is called, which is done once, or reports that there are not so many.
func (s *Shares) Take(principal string, n int64) (give func(), ok bool) {
	give, _ = s.try(principal, n)
	return give, give != nil
}

// Wait is [Shares.Take] that waits for others to give back, until ctx ends.
func (s *Shares) Wait(ctx context.Context, principal string, n int64) (give func(), ok bool) {
	for {
		give, given := s.try(principal, n)
		if give != nil {
			return give, true
		}
		select {
		case <-given:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// try is Take, or returns what to wait for.
func (s *Shares) try(principal string, n int64) (give func(), given <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.most-s.all || principal != "" && n > s.each-s.held[principal] {
		return nil, s.given
	}
	s.change(principal, n)
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.change(principal, -n)
		close(s.given)
		s.given = make(chan struct{})
	}), nil
}

func (s *Shares) change(principal string, n int64) {
	s.all += n
	if s.held[principal] += n; s.held[principal] == 0 {
		delete(s.held, principal)
	}
}
