package wall

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
)

const (
	maxStreams  = 128 // of a tunnel at a time, by default
	lingering   = 4   // one part in so many may be there beside, closed by the other end alone
	maxRefusals = 128 // refused streams of which the other end does not know yet
	maxReason   = 300 // bytes of a close line's error
	maxPort     = 64  // bytes of a port's name
)

// Refused begins the error of a close line for a stream that its opener may not have, whatever it asks.
const Refused = "refused: "

// Sender writes whole lines, each with its line feed, in one piece. A [Writer] is one.
type Sender interface {
	Send(lines []byte) error
}

// TunnelOptions shape a [Tunnel].
type TunnelOptions struct {
	Dials   bool     // this end opens streams, as a cell does, and accepts none
	Ports   []string // where this end accepts: the ports that may be opened
	Streams int      // at a time, each of which may hold [Window] bytes that nobody has read yet; 0: 128
	Total   int      // streams that the other end opens in all, refused ones too: each costs more than its lines; 0: no bound
	Bytes   int64    // of all lines in both directions, where base64 counts as it stands; 0: no bound
}

// Tunnel carries streams of bytes over lines of the wall, with a flow control of its own for each direction of each
// stream. It is the same at both ends, but that one end opens streams and the other one accepts them. It is safe for
// concurrent use, has no goroutine while nothing is sent, and trusts nothing that the other end says.
type Tunnel struct {
	send Sender
	opts TunnelOptions

	mu        sync.Mutex
	accepting sync.Cond
	streams   map[uint64]*Conn // an accepted stream stays until its owner has closed it and the other end has been told
	last      uint64           // the highest id that was opened
	opens     int              // by the other end
	waiting   []*Conn          // opened and not accepted yet
	left      int64            // of opts.Bytes
	err       error            // why the tunnel is closed
	out       outbox
	pumps     sync.WaitGroup
}

// NewTunnel returns a tunnel that sends through s. Whoever reads the other end's lines gives them to [Tunnel.Handle].
func NewTunnel(s Sender, opts TunnelOptions) *Tunnel {
	if opts.Streams <= 0 {
		opts.Streams = maxStreams
	}
	t := &Tunnel{send: s, opts: opts, streams: map[uint64]*Conn{}, left: opts.Bytes}
	t.accepting.L = &t.mu
	return t
}

// Dial opens a stream to a port. It doesn't wait for the other end: what that one refuses is told by the first Read, as a
// [ClosedError].
func (t *Tunnel) Dial(ctx context.Context, port string) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := CheckPort(port); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.err != nil:
		return nil, t.err
	case !t.opts.Dials:
		return nil, errors.New("this end of the tunnel accepts streams and opens none")
	case t.full():
		return nil, errors.New(t.tooMany())
	}
	t.last++
	c := t.add(t.last, port)
	c.sayOpen = true
	t.queue(c)
	return c, nil
}

// Accept waits for the next stream that the other end opens to one of the ports, and returns it with its port's name. The
// caller owns it and must close it. When the tunnel is closed, Accept returns why.
func (t *Tunnel) Accept() (*Conn, string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.err == nil && len(t.waiting) == 0 {
		t.accepting.Wait()
	}
	if t.err != nil {
		return nil, "", t.err
	}
	c := t.waiting[0]
	t.waiting = slices.Delete(t.waiting, 0, 1)
	return c, c.port, nil
}

// Handle takes one open, data, credit or close line, whose type is kind; it does not keep the line. It never waits for
// anything. A stream whose rules are broken is closed with an error, and so is the tunnel where a line makes no sense at
// all: that is the one error that Handle returns. Whatever follows is dropped.
func (t *Tunnel) Handle(kind string, line []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return nil
	}
	err := t.charge(len(line) + 1)
	if err == nil {
		err = t.take(kind, line)
	}
	if err != nil {
		t.end(err, true)
	}
	return err
}

// Close ends the tunnel and all of its streams with an error, nil for [net.ErrClosed]. It tells the other end nothing. Only
// the first one counts.
func (t *Tunnel) Close(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		err = net.ErrClosed
	}
	t.end(err, false)
}

// Wait waits after [Tunnel.Close] until nothing is being sent any more. A sender that hangs has to be freed by others.
func (t *Tunnel) Wait() { t.pumps.Wait() }

// end closes everything. With tell, the other end is told.
func (t *Tunnel) end(err error, tell bool) {
	if t.err != nil {
		return
	}
	t.err = err
	t.out.drop()
	if tell {
		t.out.farewell = clipReason(err.Error())
		t.wake()
	}
	for _, c := range t.streams {
		c.lose(err)
	}
	clear(t.streams)
	t.waiting = nil
	t.accepting.Broadcast()
}

// charge takes bytes off the budget.
func (t *Tunnel) charge(n int) error {
	if t.opts.Bytes <= 0 {
		return nil
	}
	if t.left -= int64(n); t.left < 0 {
		return fmt.Errorf("the tunnel's budget of %d bytes is used up", t.opts.Bytes)
	}
	return nil
}

func (t *Tunnel) add(id uint64, port string) *Conn {
	c := newConn(t, id, port)
	t.streams[id] = c
	return c
}

// full reports whether there are enough streams. A few that the other end has closed, and whose owners here have not yet, do
// not count: whoever closes one may open the next.
func (t *Tunnel) full() bool {
	if len(t.streams) < t.opts.Streams {
		return false
	}
	live := 0
	for _, c := range t.streams {
		if !c.over {
			live++
		}
	}
	return live >= t.opts.Streams || len(t.streams) >= t.opts.Streams+t.opts.Streams/lingering
}

func (t *Tunnel) tooMany() string {
	return fmt.Sprintf("too many connections: %d are open", t.opts.Streams)
}

// take handles a line. Its error breaks the tunnel.
func (t *Tunnel) take(kind string, line []byte) error {
	switch kind {
	case TypeOpen:
		o, err := DecodeOpen(line)
		if err != nil {
			return malformed(kind, err)
		}
		return t.opened(o)
	case TypeData:
		id, data, err := cutData(line)
		if err != nil {
			return malformed(kind, err)
		}
		c, err := t.find(id)
		if err != nil || c == nil {
			return err
		}
		return c.receive(data)
	case TypeCredit:
		o, err := DecodeCredit(line)
		if err != nil {
			return malformed(kind, err)
		}
		c, err := t.find(o.ID)
		if err == nil && c != nil {
			c.credited(o.N)
		}
		return err
	case TypeClose:
		o, err := DecodeClose(line)
		if err != nil {
			return malformed(kind, err)
		}
		if o.ID == 0 {
			return &ClosedError{Reason: o.Error}
		}
		c, err := t.find(o.ID)
		if err == nil && c != nil {
			c.closed(o)
		}
		return err
	}
	return fmt.Errorf("a line of type %.80q is none of the tunnel's", kind)
}

func malformed(kind string, err error) error { return fmt.Errorf("malformed %s: %w", kind, err) }

// find returns a stream; nil for one that has ended here, which the other end may not know yet.
func (t *Tunnel) find(id uint64) (*Conn, error) {
	if id == 0 || id > t.last {
		return nil, fmt.Errorf("stream %d was never opened", id)
	}
	return t.streams[id], nil
}

// opened handles the other end's wish for a stream.
func (t *Tunnel) opened(o Open) error {
	switch {
	case t.opts.Dials:
		return errors.New("this end of the tunnel accepts no streams")
	case o.ID <= t.last:
		return fmt.Errorf("stream %d is opened after stream %d: ids must rise", o.ID, t.last)
	}
	if t.opens++; t.opts.Total > 0 && t.opens > t.opts.Total {
		return fmt.Errorf("%d streams were opened, which is the most", t.opts.Total)
	}
	t.last = o.ID
	reason := ""
	switch {
	case !slices.Contains(t.opts.Ports, o.Port):
		reason = Refused + "this call was not granted " + o.Port
	case t.full():
		reason = t.tooMany()
	}
	if reason != "" {
		return t.refuse(o.ID, reason)
	}
	t.waiting = append(t.waiting, t.add(o.ID, o.Port))
	t.accepting.Signal()
	return nil
}

// refuse tells the other end that it gets no stream. One that asks and asks without listening breaks the tunnel.
func (t *Tunnel) refuse(id uint64, reason string) error {
	if len(t.out.refusals) >= maxRefusals {
		return errors.New("streams are opened faster than their refusals are read")
	}
	t.out.refusals = append(t.out.refusals, refusal{id, reason})
	t.wake()
	return nil
}
