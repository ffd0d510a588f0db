package a2ehost

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// activity is what others may know of a session that runs.
type activity struct {
	inFlight atomic.Int64 // requests that have no answer yet
	began    time.Time
	last     atomic.Int64 // when the peer was last heard or served, as a time since began
}

func newActivity() *activity { return &activity{began: time.Now()} }

func (a *activity) touch() { a.last.Store(int64(time.Since(a.began))) }

// idle returns for how long nothing has been in flight and nothing was heard.
func (a *activity) idle() time.Duration {
	if a.inFlight.Load() > 0 {
		return 0
	}
	return time.Since(a.began) - time.Duration(a.last.Load())
}

// places are the sessions of one socket.
type places struct {
	most int
	idle time.Duration // a session that is idle for longer must make room for another

	mu   sync.Mutex
	open map[*place]struct{}
}

type place struct {
	act   *activity
	leave context.CancelCauseFunc // ends the session
}

func newPlaces(most int, idle time.Duration) *places {
	return &places{most: most, idle: idle, open: map[*place]struct{}{}}
}

// take finds room for p, and reports false when there is none. It may end the session that has been idle longest: that
// one has nothing to finish, so it is not waited for.
func (s *places) take(p *place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= s.most {
		old := s.idlest()
		if old == nil {
			return false
		}
		delete(s.open, old)
		old.leave(a2e.Errorf(a2e.RuntimeError, "closing after %s without a request: another connection needs the place",
			old.act.idle().Round(time.Second)).Because(a2e.ReasonQueueFull).Transient())
	}
	s.open[p] = struct{}{}
	return true
}

func (s *places) idlest() (found *place) {
	longest := s.idle
	for p := range s.open {
		if idle := p.act.idle(); idle > longest {
			found, longest = p, idle
		}
	}
	return found
}

func (s *places) free(p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, p)
}
