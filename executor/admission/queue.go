package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

var (
	// ErrFull: as many calls wait as may.
	ErrFull = errors.New("the queue is full")
	// ErrBusy: what may be held beside the cells is held, or the memory is.
	ErrBusy = errors.New("no share is free")
)

// TooLargeError says that a request could not be admitted even if nothing else ran.
type TooLargeError struct{ Asked, Budget int64 } // bytes

// Error names both amounts.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the call reserves %d bytes of memory, all cells together may have %d", e.Asked, e.Budget)
}

// Options size a [Queue]. All are positive.
type Options struct {
	Cells   int       // admitted at once
	Memory  int64     // bytes reserved at once
	Waiting int       // calls that may wait
	Depth   func(int) // told the number that waits whenever it changes; may be nil; must not call the queue
}

// Queue admits calls. It is safe for concurrent use.
type Queue struct {
	opts Options

	mu      sync.Mutex
	cells   int
	beside  int // shares that [Queue.Beside] handed out
	memory  int64
	waiting int
	lanes   []*lane // principals with waiters, in the order of their turns
}

// lane is one principal's waiters, first come first served.
type lane struct {
	principal string
	waiters   []*waiter
}

type waiter struct {
	memory   int64
	admitted chan struct{} // buffered: the share is taken
	ousted   chan struct{} // closed once another has its place
}

// New returns an empty queue.
func New(opts Options) *Queue { return &Queue{opts: opts} }

// Acquire waits for a share of one cell and memory bytes. Principals take turns, and within one the first comes first; the
// one whose turn it is is never overtaken, so that large requests are not starved by small ones. Where as many wait as may,
// the last one of the principal with most waiters makes room for another principal's, which so nobody can keep out. It fails
// with [ErrFull], a [*TooLargeError], or ctx's error.
func (q *Queue) Acquire(ctx context.Context, principal string, memory int64) (*Ticket, error) {
	w, err := q.enter(principal, memory)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.admitted:
		return &Ticket{q: q, memory: memory}, nil
	case <-w.ousted:
		return nil, ErrFull
	case <-ctx.Done():
		if q.leave(principal, w) {
			return nil, ctx.Err()
		}
		select { // it was decided about in the same moment
		case <-w.admitted:
			q.release(&q.cells, memory)
		case <-w.ousted:
		}
		return nil, ctx.Err()
	}
}

// Try is Acquire for who does not wait: it returns nil where somebody does, or no share is free.
func (q *Queue) Try(memory int64) *Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting > 0 || !q.fits(memory) {
		return nil
	}
	q.cells++
	q.memory += memory
	return &Ticket{q: q, memory: memory}
}

// Beside takes a share for a call that is made within an admitted one: beside the limit of cells and past all who wait, but
// at once or not at all. Whoever asks holds a share already, and would wait for others who do the same. As many such shares
// are handed out as there are cells; memory is counted as ever. It fails with [ErrBusy] or a [*TooLargeError].
func (q *Queue) Beside(memory int64) (*Ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case memory > q.opts.Memory:
		return nil, &TooLargeError{Asked: memory, Budget: q.opts.Memory}
	case q.beside >= q.opts.Cells || q.memory+memory > q.opts.Memory:
		return nil, ErrBusy
	}
	q.beside++
	q.memory += memory
	return &Ticket{q: q, memory: memory, beside: true}, nil
}

func (q *Queue) enter(principal string, memory int64) (*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := &waiter{memory: memory, admitted: make(chan struct{}, 1), ousted: make(chan struct{})}
	switch {
	case memory > q.opts.Memory:
		return nil, &TooLargeError{Asked: memory, Budget: q.opts.Memory}
	case q.waiting == 0 && q.fits(memory):
		q.take(w)
		return w, nil
	case q.waiting >= q.opts.Waiting && !q.oust(principal):
		return nil, ErrFull
	}
	q.lane(principal).push(w)
	q.count(+1)
	return w, nil
}

func (q *Queue) lane(principal string) *lane {
	for _, l := range q.lanes {
		if l.principal == principal {
			return l
		}
	}
	l := &lane{principal: principal}
	q.lanes = append(q.lanes, l)
	return l
}

// oust takes the last waiter out of the longest lane, unless another one of the principal would make that principal's as long.
func (q *Queue) oust(principal string) bool {
	var longest *lane
	own := 0
	for _, l := range q.lanes {
		if l.principal == principal {
			own = len(l.waiters)
		}
		if longest == nil || len(l.waiters) > len(longest.waiters) {
			longest = l
		}
	}
	if longest == nil || len(longest.waiters) <= own+1 {
		return false
	}
	last := len(longest.waiters) - 1
	close(longest.waiters[last].ousted)
	longest.waiters[last] = nil
	longest.waiters = longest.waiters[:last]
	q.count(-1)
	return true
}

func (l *lane) push(w *waiter) { l.waiters = append(l.waiters, w) }

// leave takes a waiter out, and reports whether it still waited.
func (q *Queue) leave(principal string, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, l := range q.lanes {
		if l.principal != principal {
			continue
		}
		for j, x := range l.waiters {
			if x == w {
				l.waiters = append(l.waiters[:j], l.waiters[j+1:]...)
				if len(l.waiters) == 0 {
					q.lanes = append(q.lanes[:i], q.lanes[i+1:]...)
				}
				q.count(-1)
				q.admit() // whoever stood behind may fit
				return true
			}
		}
	}
	return false
}

func (q *Queue) fits(memory int64) bool {
	return q.cells < q.opts.Cells && q.memory+memory <= q.opts.Memory
}

func (q *Queue) take(w *waiter) {
	q.cells++
	q.memory += w.memory
	w.admitted <- struct{}{}
}

// admit hands shares to waiters while they fit, a principal at a time.
func (q *Queue) admit() {
	for len(q.lanes) > 0 {
		l := q.lanes[0]
		w := l.waiters[0]
		if !q.fits(w.memory) {
			return
		}
		l.waiters = l.waiters[1:]
		q.lanes = q.lanes[1:]
		if len(l.waiters) > 0 {
			q.lanes = append(q.lanes, l) // its next turn comes after everybody else's
		}
		q.count(-1)
		q.take(w)
	}
}

func (q *Queue) count(d int) {
	q.waiting += d
	if q.opts.Depth != nil {
		q.opts.Depth(q.waiting)
	}
}

// release gives back a share of those that count counts.
func (q *Queue) release(count *int, memory int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*count--
	q.memory -= memory
	q.admit()
}

// Held returns how many cells and how much memory are handed out.
func (q *Queue) Held() (cells int, memory int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cells + q.beside, q.memory
}

// Use is how much of a queue's shares is handed out.
type Use struct {
	Cells, Waiting int // cells handed out, and calls that wait
	Memory         int64
	MaxCells       int
	MaxMemory      int64
}

// Use returns how much is handed out.
func (q *Queue) Use() Use {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Use{Cells: q.cells + q.beside, Waiting: q.waiting, Memory: q.memory, MaxCells: q.opts.Cells, MaxMemory: q.opts.Memory}
}

// Room reports whether memory could be used beside what is handed out, and beside what the next one waits for if there is a
// cell for it.
func (q *Queue) Room(memory int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lanes) > 0 && q.cells < q.opts.Cells {
		memory += q.lanes[0].waiters[0].memory
	}
	return q.memory+memory <= q.opts.Memory
}

// Busy reports whether anybody waits for a share.
func (q *Queue) Busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting > 0
}

// Ticket is an admitted call's share.
type Ticket struct {
	q      *Queue
	memory int64
	beside bool
	once   sync.Once
}

// Release gives the share back. Only the first call does anything.
func (t *Ticket) Release() {
	t.once.Do(func() {
		count := &t.q.cells
		if t.beside {
			count = &t.q.beside
		}
		t.q.release(count, t.memory)
	})
}
