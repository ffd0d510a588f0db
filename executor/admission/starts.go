package admission

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// How many cells start at once. An engine that gets more starts than it can do lets all of them wait, until none is done before
// its caller's time is over; one that keeps up may have more.
const (
	fewStarts  = 64              // always
	mostStarts = 2048            // never more
	calmStart  = 5 * time.Second // a start that takes no longer says that the engine keeps up
	moreStarts = 0.25            // for each such start that came to something while half of them are out, or more
	lessStarts = 0.7             // times as many after one that took longer, once in a calmStart
)

// Starts bounds how many cells start at once, by how long starts take. Each principal has half of that at most, so that cells
// which take long to come up, as those of an image that is still to be pulled, hold up nobody else's. The zero value is ready. It is
// safe for concurrent use.
type Starts struct {
	mu      sync.Mutex
	window  float64 // 0: fewStarts
	out     int
	own     map[string]int // of out, by principal
	waiting list.List      // of *starter, in the order of their turns
	cut     time.Time      // when the window was last made smaller
}

// starter is one that waits.
type starter struct {
	principal string
	turn      chan struct{} // closed when it comes
}

// Acquire waits for its turn to start a cell, first come first served, and returns what ends the turn, which is told whether the
// cell is up. It fails with ctx's error.
func (s *Starts) Acquire(ctx context.Context, principal string) (done func(up bool), err error) {
	one := &starter{principal, make(chan struct{})}
	s.mu.Lock()
	place := s.waiting.PushBack(one)
	s.admit()
	s.mu.Unlock()
	select {
	case <-one.turn:
		return s.turn(principal), nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-one.turn: // in the same moment
		s.count(principal, -1)
		s.admit()
	default:
		s.waiting.Remove(place)
	}
	return nil, ctx.Err()
}

// turn returns what ends a turn that begins now. Only its first call does anything. A start that fails at once says nothing of
// how many an engine can do.
func (s *Starts) turn(principal string) func(up bool) {
	began, over := time.Now(), false
	return func(up bool) {
		now := time.Now()
		s.mu.Lock()
		defer s.mu.Unlock()
		if over {
			return
		}
		over = true
		full := s.out >= s.room()/2
		s.count(principal, -1)
		switch {
		case now.Sub(began) > calmStart:
			if now.Sub(s.cut) >= calmStart {
				s.cut, s.window = now, max(fewStarts, s.window*lessStarts)
			}
		case up && full:
			s.window = min(mostStarts, max(fewStarts, s.window)+moreStarts)
		}
		s.admit()
	}
}

func (s *Starts) room() int { return max(fewStarts, int(s.window)) }

// count counts turns out, or in again.
func (s *Starts) count(principal string, d int) {
	s.out += d
	if s.own == nil {
		s.own = map[string]int{}
	}
	if s.own[principal] += d; s.own[principal] == 0 {
		delete(s.own, principal)
	}
}

// admit gives turns to those who wait and may have one. Where nobody says who calls, everybody is one.
func (s *Starts) admit() {
	for place := s.waiting.Front(); place != nil && s.out < s.room(); {
		one, next := place.Value.(*starter), place.Next()
		if one.principal == "" || s.own[one.principal] < s.room()/2 {
			s.waiting.Remove(place)
			s.count(one.principal, +1)
			close(one.turn)
		}
		place = next
	}
}

// Use returns how many cells start, of how many that may, and how many wait for that.
func (s *Starts) Use() (out, room, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out, s.room(), s.waiting.Len()
}
