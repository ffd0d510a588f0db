package relay

import (
	"context"
	"sync"
)

// spillAt is how many bytes of records wait in memory; more go to a file. It bounds what a call costs whose listener does
// not listen, whatever limits.output and limits.out allow.
const spillAt = 64 << 10

// outbox is an ordered buffer between the reader of a cell and the consumer of its events. It never waits for the
// consumer; the relay's budgets bound it. What the consumer has not taken lies in memory up to [spillAt], and beyond that
// in a file; where no file can be had, it stays in memory.
type outbox struct {
	mu     sync.Mutex
	older  spill  // blocks of records in a file
	newer  []byte // the records that follow
	lost   int    // blocks that could not be read back
	closed bool
	gone   bool          // nobody takes any more
	wake   chan struct{} // buffered: something changed
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put appends a record, unless the box is closed.
func (o *outbox) put(e event) {
	o.mu.Lock()
	if !o.closed && !o.gone {
		o.newer = e.pack(o.newer)
		if len(o.newer) >= spillAt && o.older.write(o.newer) {
			o.newer = emptied(o.newer)
		}
	}
	o.mu.Unlock()
	o.signal()
}

// emptied keeps the buffer for the next records, unless one of the longest has blown it up.
func emptied(b []byte) []byte {
	if cap(b) > 1<<20 {
		return nil
	}
	return b[:0]
}

// close lets take return false once the box is empty.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.signal()
}

// drop forgets what nobody will take, and what is put in from now on.
func (o *outbox) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gone, o.newer = true, nil
	o.older.close()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take returns the oldest block of records, waiting for at least one. It returns false when the box is closed and empty,
// or ctx ends.
func (o *outbox) take(ctx context.Context) ([]byte, bool) {
	for ctx.Err() == nil {
		block, closed := o.oldest()
		if len(block) > 0 {
			return block, true
		}
		if closed {
			return nil, false
		}
		select {
		case <-o.wake:
		case <-ctx.Done():
		}
	}
	return nil, false
}

func (o *outbox) oldest() (block []byte, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.older.empty() {
		block, err := o.older.read()
		if err == nil {
			return block, false
		}
		o.lost++
	}
	block, o.newer = o.newer, nil
	return block, o.closed
}

// missing returns how many blocks were lost since it was asked last.
func (o *outbox) missing() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.lost
	o.lost = 0
	return n
}
