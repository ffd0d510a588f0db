package wall

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
)

const (
	chunk = 32 << 10 // most raw bytes of a stream's turn: other streams and other lines wait for so long
	batch = 32 << 10 // bytes of lines after which they are sent, though others have their turn yet
)

// outbox is what a tunnel has to say. It is short: a stream is in it once, and keeps its own bytes.
type outbox struct {
	first, last *Conn // streams that have something to say, in the order of their turns
	refusals    []refusal
	farewell    string // the last words
	sending     bool   // a pump is at work
}

type refusal struct {
	id     uint64
	reason string
}

func (o *outbox) drop() {
	for c := o.first; c != nil; c = c.next {
		c.queued = false
	}
	o.first, o.last, o.refusals = nil, nil, nil
}

func (o *outbox) push(c *Conn) {
	c.queued, c.next = true, nil
	if o.first == nil {
		o.first = c
	} else {
		o.last.next = c
	}
	o.last = c
}

func (o *outbox) pop() *Conn {
	c := o.first
	if c != nil {
		o.first, c.next, c.queued = c.next, nil, false
	}
	return c
}

// queue gives a stream a turn, if it has something to say.
func (t *Tunnel) queue(c *Conn) {
	if t.err == nil && !c.queued && c.wants() {
		t.out.push(c)
		t.wake()
	}
}

// wake makes sure that somebody sends.
func (t *Tunnel) wake() {
	if !t.out.sending {
		t.out.sending = true
		t.pumps.Go(t.pump)
	}
}

var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, 96<<10)
	return &b
}}

// pump sends until there is nothing to say. Nothing is locked while it waits for the sender.
func (t *Tunnel) pump() {
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	for {
		*b = t.next((*b)[:0])
		if len(*b) == 0 {
			return
		}
		if err := t.send.Send(*b); err != nil {
			t.Close(err)
		}
	}
}

// next appends the lines that are sent next. When there are none, the pump must end.
func (t *Tunnel) next(b []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.out.refusals {
		b = appendClose(b, Close{ID: r.id, Error: r.reason})
	}
	t.out.refusals = t.out.refusals[:0]
	for len(b) < batch {
		c := t.out.pop()
		if c == nil {
			break
		}
		b = c.turn(b)
		if c.wants() {
			t.out.push(c)
		}
	}
	if err := t.charge(len(b)); err != nil {
		t.end(err, true)
		b = b[:0]
	}
	if t.out.farewell != "" {
		b = appendClose(b, Close{Error: t.out.farewell})
		t.out.farewell = ""
	}
	t.out.sending = len(b) > 0
	return b
}

// appendData appends a data line in the form that [cutData] reads quickly.
func appendData(b []byte, id uint64, data []byte) []byte {
	b = strconv.AppendUint(append(b, dataHead...), id, 10)
	b = base64.StdEncoding.AppendEncode(append(b, dataMid...), data)
	return append(append(b, dataTail...), '\n')
}

func appendOpen(b []byte, id uint64, port string) []byte {
	return appendLine(b, Open{Type: TypeOpen, ID: id, Port: port})
}

func appendCredit(b []byte, id uint64, n int64) []byte {
	return appendLine(b, Credit{Type: TypeCredit, ID: id, N: n})
}

func appendClose(b []byte, c Close) []byte {
	c.Type = TypeClose
	return appendLine(b, c)
}

func appendLine(b []byte, v any) []byte {
	line, err := json.Marshal(v)
	if err != nil {
		panic("wall: " + err.Error()) // numbers and strings always encode
	}
	return append(append(b, line...), '\n')
}

// clipReason makes an error's text fit in a close line.
func clipReason(s string) string {
	if len(s) > maxReason {
		s = s[:maxReason-3] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
