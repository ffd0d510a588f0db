package wall

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
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
	if len(p) == 0 {
		return 0, nil
	}
	if err := c.waitRead(); err != nil {
		return 0, err
	}
	n := c.in.read(p)
	c.t.queue(c) // credit may be due
	return n, nil
}

// waitRead waits until there are bytes to read, and returns why there will be none.
func (c *Conn) waitRead() error {
	for {
		switch {
		case c.shut:
			return net.ErrClosed
		case c.readBy.passed():
			return os.ErrDeadlineExceeded
		case c.in.w > c.in.r:
			return nil
		case c.err != nil:
			return c.err
		case c.in.ended || c.over:
			return io.EOF
		}
		c.readers.Wait()
	}
}

// WriteTo writes to w what the other end sends, up to its end. While nothing comes it holds no buffer; the other end gets
// its credit back when w has taken the bytes.
func (c *Conn) WriteTo(w io.Writer) (int64, error) {
	total := int64(0)
	for {
		b, err := c.take()
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		n, err := w.Write(b)
		total += int64(n)
		if err != nil {
			return total, err
		}
		c.give(b)
	}
}

// take waits for bytes and hands out all there are.
func (c *Conn) take() ([]byte, error) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if err := c.waitRead(); err != nil {
		return nil, err
	}
	return c.in.take(), nil
}

// give returns what take has handed out.
func (c *Conn) give(b []byte) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if !c.over && !c.shut {
		c.in.give(b)
		c.t.queue(c)
	}
}

// Ended reports whether the other end has closed both directions, or the stream is lost: nothing written arrives any more.
func (c *Conn) Ended() bool {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	return c.over
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
