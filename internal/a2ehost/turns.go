package a2ehost

import "sync"

// turns puts the calls of one session that have the same id behind each other, in the order of arrival. Only so does
// the first line win at a handler that takes an id for one request.
type turns struct {
	mu   sync.Mutex
	last map[string]chan struct{} // closed when the newest call with that id has ended
}

// join returns what is closed when the call before has ended, nil when there is none, and what ends this one's turn.
func (t *turns) join(id string) (before <-chan struct{}, end func()) {
	own := make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	before, t.last[id] = t.last[id], own
	return before, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.last[id] == own {
			delete(t.last, id)
		}
		close(own)
	}
}
