package a2ehost

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/hotcell/hotcell/internal/a2e"
)

var (
	// errUnheard: no stream is connected and there is no more room for what was to be said.
	errUnheard = errors.New("no stream is connected")
	// errClosed: the session is over.
	errClosed = errors.New("session is over")
	// errReplaced: another stream of the session has taken this one's place.
	errReplaced = errors.New("another stream has taken the place")
)

// reasonUndelivered: an answer was not kept because nobody came for it.
const reasonUndelivered = "undelivered"

const (
	shortLine  = 4 << 10 // a message that always finds room, in bytes
	maxUnheard = 512     // answers that wait for a stream before the session takes no more requests
)

// outbox keeps what a session says until a stream has taken it. A message has been taken once it was written and flushed to
// the connection; one that was cut off is kept for the next stream. It is bounded: while a stream is connected whoever speaks
// waits for room; without one events are refused and a long answer is replaced by a short one, which says how to get it.
type outbox struct {
	most   int     // bytes
	memory *budget // that all sessions share
	taken  func(reqID string)

	mu      sync.Mutex
	queue   []parcel
	bytes   int
	answers int // in queue
	now     *stream
	last    bool          // nothing more is said
	closed  bool          // nothing more is taken
	changed chan struct{} // closed, and made anew, when anything of this has changed
}

// parcel is one message on its way.
type parcel struct {
	line   []byte
	reqID  string
	answer bool // the last message about its request
	lent   int  // of the shared memory, in bytes
}

func newOutbox(most int, memory *budget, taken func(reqID string)) *outbox {
	return &outbox{most: most, memory: memory, taken: taken, changed: make(chan struct{})}
}

// Encode implements sink.
func (o *outbox) Encode(m a2e.Message) error {
	p, err := pack(m)
	if err != nil {
		return err
	}
	if err = o.put(p, len(p.line) <= shortLine && p.answer); !errors.Is(err, errUnheard) || !p.answer {
		return err
	}
	p, err = pack(standIn(m, len(p.line)))
	if err != nil {
		return err
	}
	return o.put(p, true)
}

// pack makes one line of a message. Some clients take more for the end of a line than this protocol does: what they would
// is escaped, as it may be within JSON's strings, where alone it can stand.
func pack(m a2e.Message) (parcel, error) {
	var b bytes.Buffer
	if err := a2e.NewEncoder(&b).Encode(m); err != nil {
		return parcel{}, err
	}
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	for _, end := range [][2]string{{"\u0085", `\u0085`}, {"\u2028", `\u2028`}, {"\u2029", `\u2029`}} {
		if bytes.Contains(line, []byte(end[0])) {
			line = bytes.ReplaceAll(line, []byte(end[0]), []byte(end[1]))
		}
	}
	p := parcel{line: line, answer: true}
	switch m := m.(type) {
	case *a2e.Event:
		p.reqID, p.answer = m.ReqID, false
	case *a2e.CallResponse:
		p.reqID = m.ReqID
	case *a2e.DiscoverResponse:
		p.reqID = m.ReqID
	case *a2e.HandshakeResponse:
		p.reqID = m.ReqID
	case *a2e.Pong:
		p.reqID = m.ReqID
	case *a2e.ErrorMessage:
		p.reqID = m.ReqID
	}
	return p, nil
}

// standIn is the short answer in the place of one that could not be kept.
func standIn(m a2e.Message, size int) a2e.Message {
	why := a2e.Errorf(a2e.RuntimeError,
		"the answer has %d bytes and was not kept, since no stream was connected: connect one and send the same request again", size).
		Because(reasonUndelivered).Transient()
	switch m := m.(type) {
	case *a2e.CallResponse:
		return a2e.Failure(m.ReqID, m.Name, why, 0)
	case *a2e.DiscoverResponse:
		return a2e.ErrorReport(m.ReqID, why)
	case *a2e.ErrorMessage:
		return a2e.ErrorReport(m.ReqID, why)
	case *a2e.HandshakeResponse:
		return a2e.ErrorReport(m.ReqID, why)
	}
	return a2e.ErrorReport("", why)
}

// put takes a message in, forced or as soon as there is room.
func (o *outbox) put(p parcel, forced bool) error {
	for {
		changed, freed, err := o.try(&p, forced)
		if changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-freed:
		}
	}
}

// try is put without waiting: it returns what to wait for, or that there is nothing to wait for.
func (o *outbox) try(p *parcel, forced bool) (changed, freed <-chan struct{}, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.last {
		return nil, nil, errClosed
	}
	room := forced || o.now != nil && len(o.queue) == 0
	if !room && o.bytes+len(p.line) <= o.most {
		if freed = o.memory.try(len(p.line)); freed == nil {
			room, p.lent = true, len(p.line)
		}
	}
	switch {
	case room:
		o.queue = append(o.queue, *p)
		o.bytes += len(p.line)
		if p.answer {
			o.answers++
		}
		o.tell()
		return nil, nil, nil
	case o.now == nil:
		return nil, nil, errUnheard
	}
	return o.changed, freed, nil
}

// tell wakes all who wait. The lock is held.
func (o *outbox) tell() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// unheard returns how many answers wait.
func (o *outbox) unheard() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answers
}

// next returns the oldest message for a stream, or why there will be none: nil when all has been said.
func (o *outbox) next(ctx context.Context, st *stream) (p parcel, more bool, err error) {
	for {
		o.mu.Lock()
		changed := o.changed
		switch {
		case o.now != st:
			err = errReplaced
		case o.closed, o.last && len(o.queue) == 0:
		case len(o.queue) > 0:
			p, more = o.queue[0], true
		default:
			o.mu.Unlock()
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return parcel{}, false, ctx.Err()
			}
		}
		o.mu.Unlock()
		return p, more, err
	}
}

// sent removes the oldest message, which a stream has taken.
func (o *outbox) sent() {
	o.mu.Lock()
	p, known := parcel{}, len(o.queue) > 0
	if known {
		p = o.drop()
	}
	o.tell()
	o.mu.Unlock()
	if known && p.answer {
		o.taken(p.reqID)
	}
}

// drop takes the oldest message out. The lock is held.
func (o *outbox) drop() parcel {
	p := o.queue[0]
	o.queue[0] = parcel{}
	if o.queue = o.queue[1:]; len(o.queue) == 0 {
		o.queue = nil
	}
	o.bytes -= len(p.line)
	if p.answer {
		o.answers--
	}
	if p.lent > 0 {
		o.memory.give(p.lent)
	}
	return p
}

// finish says that nothing more will be said, and waits until all has been taken or ctx ends.
func (o *outbox) finish(ctx context.Context) {
	for {
		o.mu.Lock()
		o.last = true
		o.tell()
		changed, empty := o.changed, len(o.queue) == 0
		o.mu.Unlock()
		if empty {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// close throws away what was not taken, and ends the stream.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for len(o.queue) > 0 {
		o.drop()
	}
	o.tell()
}
