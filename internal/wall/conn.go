package wall

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// ClosedError says that the other end closed a stream, or the tunnel, and why.
type ClosedError struct {
	Reason string // the other end's words; begins with [Refused] where the stream was never to be had
}

func (e *ClosedError) Error() string { return e.Reason }

var (
	errPeerClosed = fmt.Errorf("the other end has closed the stream: %w", io.ErrClosedPipe)
	errBase64     = errors.New("data: expected base64 with padding")
)

// Conn is one stream of a [Tunnel], a [net.Conn] with half-close.
type Conn struct {
	t    *Tunnel
	id   uint64
	port string

	// All below is the tunnel's lock's.
	readers, writers sync.Cond
	readBy, writeBy  deadline

	in      inflow
	pending []byte // the rest of the Write that is under way
	writing bool   // a Write is under way
	credit  int64  // how many bytes may be sent

	sayOpen, sayHalf, sayClose bool   // lines that are due
	reason                     string // of the close line
	shut, shutWrite            bool   // by the owner
	over                       bool   // the other end has closed the stream, or has been told that it is
	err                        error  // why, where that was no orderly end

	queued bool // for its turn
	next   *Conn
}

func newConn(t *Tunnel, id uint64, port string) *Conn {
	c := &Conn{t: t, id: id, port: port, credit: Window, in: inflow{credit: Window}}
	c.readers.L, c.writers.L = &t.mu, &t.mu
	return c
}

// Read returns what the other end has sent; after its end io.EOF, or a [ClosedError] where it gave a reason.
func (c *Conn) Read(p []byte) (int, error) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	for {
		switch {
		case c.shut:
			return 0, net.ErrClosed
		case c.readBy.passed():
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		}
		if n := c.in.read(p); n > 0 {
			c.t.queue(c) // credit may be due
			return n, nil
		}
		switch {
		case c.err != nil:
			return 0, c.err
		case c.in.ended || c.over:
			return 0, io.EOF
		}
		c.readers.Wait()
	}
}

// Write sends p. It returns when all of it is on its way; the other end may not have read it.
func (c *Conn) Write(p []byte) (int, error) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	for c.writing && c.cannotWrite() == nil {
		c.writers.Wait()
	}
	if err := c.cannotWrite(); err != nil {
		return 0, err
	}
	c.writing, c.pending = true, p
	defer func() {
		c.writing, c.pending = false, nil
		c.writers.Broadcast()
	}()
	c.t.queue(c)
	for len(c.pending) > 0 {
		if err := c.cannotWrite(); err != nil {
			return len(p) - len(c.pending), err
		}
		c.writers.Wait()
	}
	return len(p), nil
}

// cannotWrite says why nothing more can be written, nil where it can.
func (c *Conn) cannotWrite() error {
	switch {
	case c.shut || c.shutWrite:
		return net.ErrClosed
	case c.err != nil:
		return c.err
	case c.over:
		return errPeerClosed
	case c.writeBy.passed():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// CloseWrite tells the other end that nothing more will come.
func (c *Conn) CloseWrite() error {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if err := c.cannotWrite(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	c.shutWrite, c.sayHalf = true, true
	c.writers.Broadcast()
	c.t.queue(c)
	return nil
}

// Close ends the stream. What has been written still arrives.
func (c *Conn) Close() error { return c.close("") }

// CloseWithError ends the stream and tells the other end why, in at most 300 bytes.
func (c *Conn) CloseWithError(err error) error { return c.close(clipReason(err.Error())) }

func (c *Conn) close(reason string) error {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if c.shut {
		return net.ErrClosed
	}
	c.shut = true
	if !c.over {
		c.over, c.sayClose, c.reason = true, true, reason
	}
	c.quiet()
	c.t.queue(c)
	c.settle()
	return nil
}

// quiet drops what nobody will read and wakes who waits.
func (c *Conn) quiet() {
	c.in.drop()
	if c.shut {
		c.readBy.stop()
		c.writeBy.stop()
	}
	c.readers.Broadcast()
	c.writers.Broadcast()
}

// settle forgets a stream that its owner has closed once the other end has been told.
func (c *Conn) settle() {
	if c.shut && !c.sayClose {
		delete(c.t.streams, c.id)
	}
}

// lose ends a stream whose tunnel has ended.
func (c *Conn) lose(err error) {
	if c.err == nil {
		c.err = err
	}
	c.over, c.sayOpen, c.sayHalf, c.sayClose = true, false, false, false
	c.quiet()
}

// violate ends a stream whose rules the other end has broken.
func (c *Conn) violate(reason string) {
	c.err = errors.New("the other end broke the rules of the stream: " + reason)
	c.over, c.sayClose, c.reason = true, true, reason
	c.quiet()
	c.t.queue(c)
}

// receive takes the bytes of a data line, in base64.
func (c *Conn) receive(data []byte) error {
	n := rawLen(data)
	switch {
	case c.over:
		return nil
	case n > DataChunk:
		return fmt.Errorf("malformed %s: %d bytes, at most %d are allowed", TypeData, n, DataChunk)
	case c.in.ended:
		c.violate("data after its end")
		return nil
	case int64(n) > c.in.credit:
		c.violate("data beyond its credit")
		return nil
	}
	c.in.credit -= int64(n)
	got, err := base64.StdEncoding.Decode(c.in.room(n), data)
	if err != nil || got != n {
		return malformed(TypeData, errBase64)
	}
	c.in.w += n
	c.readers.Broadcast()
	return nil
}

// credited takes a credit line.
func (c *Conn) credited(n int64) {
	switch {
	case c.over:
	case c.credit+n > Window:
		c.violate("credit beyond the window")
	default:
		c.credit += n
		c.t.queue(c)
	}
}

// closed takes a close line.
func (c *Conn) closed(o Close) {
	if c.over {
		return
	}
	c.in.ended = true
	if !o.Half {
		c.over, c.sayOpen, c.sayHalf = true, false, false
		if o.Error != "" {
			c.err = &ClosedError{Reason: o.Error}
		}
		c.writers.Broadcast()
	}
	c.readers.Broadcast()
}

// wants reports whether the stream has something to say.
func (c *Conn) wants() bool {
	return c.sayOpen || c.sayClose || c.in.due() && !c.over || c.sends() > 0 || c.sayHalf && !c.over
}

// sends is how many bytes can be sent in one turn.
func (c *Conn) sends() int {
	if c.over || c.shutWrite {
		return 0
	}
	return min(len(c.pending), int(c.credit), chunk)
}

// turn appends the lines of one turn.
func (c *Conn) turn(b []byte) []byte {
	if c.sayOpen {
		c.sayOpen = false
		b = appendOpen(b, c.id, c.port)
	}
	if c.in.due() && !c.over {
		b = appendCredit(b, c.id, c.in.takeOwed())
	}
	if n := c.sends(); n > 0 {
		b = appendData(b, c.id, c.pending[:n])
		c.credit -= int64(n)
		if c.pending = c.pending[n:]; len(c.pending) == 0 {
			c.writers.Broadcast()
		}
	}
	if c.sayHalf && !c.over {
		c.sayHalf = false
		b = appendClose(b, Close{ID: c.id, Half: true})
	}
	if c.sayClose {
		c.sayClose = false
		b = appendClose(b, Close{ID: c.id, Error: c.reason})
		c.settle()
	}
	return b
}

// Port is the name of the port that the stream was opened to.
func (c *Conn) Port() string { return c.port }

// LocalAddr returns the port's name.
func (c *Conn) LocalAddr() net.Addr { return addr(c.port) }

// RemoteAddr returns the port's name.
func (c *Conn) RemoteAddr() net.Addr { return addr(c.port) }

// SetDeadline bounds reads and writes.
func (c *Conn) SetDeadline(at time.Time) error {
	return errors.Join(c.SetReadDeadline(at), c.SetWriteDeadline(at))
}

// SetReadDeadline bounds reads, those that wait already included.
func (c *Conn) SetReadDeadline(at time.Time) error { return c.setDeadline(&c.readBy, &c.readers, at) }

// SetWriteDeadline bounds writes, those that wait already included.
func (c *Conn) SetWriteDeadline(at time.Time) error { return c.setDeadline(&c.writeBy, &c.writers, at) }

func (c *Conn) setDeadline(d *deadline, waiters *sync.Cond, at time.Time) error {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if c.shut {
		return net.ErrClosed
	}
	d.set(at, func() {
		c.t.mu.Lock()
		defer c.t.mu.Unlock()
		waiters.Broadcast()
	})
	waiters.Broadcast()
	return nil
}

// deadline is a moment and the timer that wakes who waits then.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) set(at time.Time, wake func()) {
	d.stop()
	d.at = at
	if wait := time.Until(at); !at.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, wake)
	}
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

// addr names an end of a stream.
type addr string

func (addr) Network() string  { return "cell" }
func (a addr) String() string { return string(a) }
