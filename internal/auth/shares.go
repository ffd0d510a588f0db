package auth

import "sync"

// Shares divide something that all callers use between principals, so that none of them can keep the others from it. It is safe
// for concurrent use.
type Shares struct {
	most, each int64

	mu   sync.Mutex
	held map[string]int64 // by principal; those that hold nothing are absent
	all  int64
}

// NewShares makes shares of which there are most, and of which a principal may hold each. Who has no principal may hold all
// of them: nobody can be told from another then.
func NewShares(most, each int64) *Shares {
	return &Shares{most: most, each: each, held: map[string]int64{}}
}

// Take takes n shares for a principal until give is called, which is done once, or reports that there are not so many.
func (s *Shares) Take(principal string, n int64) (give func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.most-s.all || principal != "" && n > s.each-s.held[principal] {
		return nil, false
	}
	s.change(principal, n)
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.change(principal, -n)
	}), true
}

func (s *Shares) change(principal string, n int64) {
	s.all += n
	if s.held[principal] += n; s.held[principal] == 0 {
		delete(s.held, principal)
	}
}
