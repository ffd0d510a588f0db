package store

import (
	"database/sql"
	"sync"
	"sync/atomic"
)

// Bounds on what waits to be written.
const (
	mostWaiting = 4 << 20   // bytes of events, and as many of audit entries and of what principals used; what comes beyond is dropped
	mostFiles   = 64 << 20  // the same of pieces of artifacts: those of one call at the default limits.out, as base64, and room
	batchBytes  = 256 << 10 // of events in one transaction
	aboardBytes = 64 << 10  // of events in a transaction that somebody waits for
	opOverhead  = 256       // bytes that an op costs beside its data
)

// op is one change. Several share a transaction.
type op struct {
	do   func(tx *sql.Tx) error // may be run again after a transaction that failed
	said *words                 // instead of do: what a skill said
	size int                    // bytes that it holds while it waits
	late bool                   // nobody waits for it, and it may be dropped

	audit bool // with late: an audit entry or what a principal used, which no event may crowd out

	taken atomic.Bool // by the writer, or by whoever no longer waits
	done  chan error  // buffered; gets the result, unless late
}

// file reports whether it is a piece of an artifact: one that lacks a piece is of no use.
func (o *op) file() bool { return o.said != nil && o.said.artifact }

// queue holds the changes that wait for the writer. Putting in never blocks.
type queue struct {
	mu      sync.Mutex
	urgent  []*op
	late    []*op
	bytes   int  // of late
	audit   int  // those of audit entries
	files   int  // those of pieces of artifacts
	dropped int  // late ops since the last take
	due     bool // what waits elsewhere is to be written, when there is time
	closed  bool
	wake    chan struct{} // buffered: something came, or the queue was closed
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// put reports whether the queue is open. A late op that finds no room is dropped and counted.
func (q *queue) put(o *op) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return false
	case !o.late:
		q.urgent = append(q.urgent, o)
	case !q.room(o):
		q.dropped++
		return true
	default:
		q.late = append(q.late, o)
		q.count(o, +1)
		if len(q.late) > 1 && q.bytes < batchBytes {
			return true // the first one has woken the writer
		}
	}
	q.signal()
	return true
}

// nudge has the writer write soon what waits elsewhere.
func (q *queue) nudge() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due = true
	if len(q.urgent)+len(q.late) == 0 {
		q.signal()
	}
}

// room reports whether a late op finds any among its like.
func (q *queue) room(o *op) bool {
	switch {
	case o.audit:
		return q.audit+o.size <= mostWaiting
	case o.file():
		return q.files+o.size <= mostFiles
	}
	return q.bytes-q.audit-q.files+o.size <= mostWaiting
}

func (q *queue) count(o *op, sign int) {
	q.bytes += sign * o.size
	switch {
	case o.audit:
		q.audit += sign * o.size
	case o.file():
		q.files += sign * o.size
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// pressing reports whether the writer should not wait for more.
func (q *queue) pressing() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed || len(q.urgent) > 0 || q.bytes >= batchBytes
}

// batch is what goes into one transaction.
type batch struct {
	urgent, late []*op
	dropped      int  // late ops that found no room
	due          bool // what waits elsewhere is to be written, too
	last         bool // the queue is closed and has nothing left
}

func (q *queue) take() batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := batch{urgent: q.urgent, dropped: q.dropped, due: q.due}
	q.urgent, q.dropped, q.due = nil, 0, false
	room := batchBytes
	if len(b.urgent) > 0 {
		room = aboardBytes
	}
	n := 0
	for n < len(q.late) && (room > 0 || n == 0) {
		room -= q.late[n].size
		q.count(q.late[n], -1)
		n++
	}
	b.late, q.late = q.late[:n:n], q.late[n:]
	if len(q.late) == 0 {
		q.late = nil // lets go of the array
	}
	b.last = q.closed && len(b.urgent)+len(b.late) == 0
	return b
}

// Backlog returns how many changes wait to be written, and the bytes of those that nobody waits for.
func (s *Store) Backlog() (changes, bytes int) {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.urgent) + len(s.queue.late), s.queue.bytes
}
