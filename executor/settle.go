package executor

import (
	"sync"
	"time"
)

// settleLimit is how long the answer to a call waits for what the call used last: its account is to have that, too. Cut off,
// a service needs moments to say what it was.
const settleLimit = time.Second

// busy counts what is under way beside a call.
type busy struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed when nothing is under way any more; nil: nobody waits
}

func (b *busy) enter() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
}

func (b *busy) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n--; b.n == 0 && b.empty != nil {
		close(b.empty)
		b.empty = nil
	}
}

// settle waits a moment until nothing is under way, and reports whether that is so.
func (b *busy) settle(limit time.Duration) bool {
	b.mu.Lock()
	if b.n == 0 {
		b.mu.Unlock()
		return true
	}
	if b.empty == nil {
		b.empty = make(chan struct{})
	}
	empty := b.empty
	b.mu.Unlock()
	patience := time.NewTimer(limit)
	defer patience.Stop()
	select {
	case <-empty:
		return true
	case <-patience.C:
		return false
	}
}
