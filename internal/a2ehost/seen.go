package a2ehost

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// seenFor is how long a message that was taken is known.
	seenFor = 10 * time.Minute
	// maxSeen is how many of one session are. Beyond it the oldest answered one is forgotten: when that is sent again, the
	// handler, which knows the calls of the last ten minutes, still runs none twice.
	maxSeen = 2048
)

// seen knows the messages of one session, so that a request that was sent again because the answer to its POST got lost
// is not answered twice.
type seen struct {
	mu    sync.Mutex
	order *list.List // of *mark, oldest first
	byID  map[sum]*list.Element
}

// sum stands for an id or a body.
type sum [16]byte

type mark struct {
	id, body sum
	at       time.Time
	open     int // requests with that id that are not answered, or whose answer no stream has taken
}

func newSeen() *seen { return &seen{order: list.New(), byID: map[sum]*list.Element{}} }

func sumOf(b []byte) sum {
	full := sha256.Sum256(b)
	return sum(full[:16])
}

// add notes a message, and reports false when it is one that is being answered already.
func (s *seen) add(id string, body []byte, now time.Time) bool {
	if id == "" {
		return true
	}
	key, digest := sumOf([]byte(id)), sumOf(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byID[key]; e != nil {
		m := e.Value.(*mark)
		if m.open > 0 && m.body == digest {
			return false
		}
		m.open++
		return true
	}
	s.forget(now)
	s.byID[key] = s.order.PushBack(&mark{id: key, body: digest, at: now, open: 1})
	return true
}

// done notes that a stream has taken the answer to a message, or that it was not taken in after all.
func (s *seen) done(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byID[sumOf([]byte(id))]; e != nil {
		if m := e.Value.(*mark); m.open > 0 {
			m.open--
		}
	}
}

// forget makes room. What is not answered is kept; how much that is, the session bounds.
func (s *seen) forget(now time.Time) {
	for e := s.order.Front(); e != nil; {
		next, m := e.Next(), e.Value.(*mark)
		if s.order.Len() < maxSeen && now.Sub(m.at) < seenFor {
			return
		}
		if m.open == 0 {
			s.order.Remove(e)
			delete(s.byID, m.id)
		}
		e = next
	}
}
