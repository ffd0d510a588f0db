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
	moreStarts = 0.25            // for each such start while all shares are out
	lessStarts = 0.7             // times as many after one that took longer, once in a calmStart
)

// Starts bounds how many cells start at once, by how long starts take. The zero value is ready. It is safe for concurrent use.
type Starts struct {
	mu      sync.Mutex
	window  float64 // 0: fewStarts
	out     int
	waiting list.List // of chan struct{}, in the order of their turns
	cut     time.Time // when the window was last made smaller
}

// Acquire waits for its turn to start a cell, first come first served, and returns what ends the turn. It fails with ctx's error.
func (s *Starts) Acquire(ctx context.Context) (done func(), err error) {
	s.mu.Lock()
	if s.waiting.Len() == 0 && s.out < s.room() {
		s.out++
		s.mu.Unlock()
		return s.turn(), nil
	}
	turn := make(chan struct{})
	place := s.waiting.PushBack(turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return s.turn(), nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-turn: // in the same moment
		s.out--
		s.admit()
	default:
		s.waiting.Remove(place)
	}
	return nil, ctx.Err()
}

// turn returns what ends a turn that begins now. Only its first call does anything.
func (s *Starts) turn() func() {
	began := time.Now()
	return sync.OnceFunc(func() {
		now := time.Now()
		s.mu.Lock()
		defer s.mu.Unlock()
		full := s.out >= s.room()
		s.out--
		switch {
		case now.Sub(began) > calmStart:
			if now.Sub(s.cut) >= calmStart {
				s.cut, s.window = now, max(fewStarts, s.window*lessStarts)
			}
		case full:
			s.window = min(mostStarts, max(fewStarts, s.window)+moreStarts)
		}
		s.admit()
	})
}

func (s *Starts) room() int { return max(fewStarts, int(s.window)) }

// admit gives turns to those who wait.
func (s *Starts) admit() {
	for s.waiting.Len() > 0 && s.out < s.room() {
		s.out++
		close(s.waiting.Remove(s.waiting.Front()).(chan struct{}))
	}
}

// Use returns how many cells start, of how many that may, and how many wait for that.
func (s *Starts) Use() (out, room, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out, s.room(), s.waiting.Len()
}
