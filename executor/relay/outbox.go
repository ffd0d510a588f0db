package relay

import (
	"context"
	"sync"
)

// outbox is an ordered buffer between the reader of a cell and the consumer of its events. It never blocks whoever puts
// in; the relay's budgets bound it.
type outbox struct {
	mu     sync.Mutex
	items  []event
	closed bool
	wake   chan struct{} // buffered: something changed
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put appends, and reports whether the box was still open.
func (o *outbox) put(e event) bool {
	o.mu.Lock()
	open := !o.closed
	if open {
		o.items = append(o.items, e)
	}
	o.mu.Unlock()
	o.signal()
	return open
}

// close lets take return false once the box is empty.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take returns all that is there, waiting for at least one. It returns false when the box is closed and empty, or ctx
// ends.
func (o *outbox) take(ctx context.Context) ([]event, bool) {
	for {
		o.mu.Lock()
		items, closed := o.items, o.closed
		o.items = nil
		o.mu.Unlock()
		if len(items) > 0 {
			return items, true
		}
		if closed {
			return nil, false
		}
		select {
		case <-o.wake:
		case <-ctx.Done():
			return nil, false
		}
	}
}
