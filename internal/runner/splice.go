package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

// lastWords is how long a connection of which nothing more can come of use is read to its end: closed sooner, it would
// take back what was written to it.
const lastWords = time.Second

// piece is what is read of a connection at a time.
type piece struct {
	b [32 << 10]byte
	n int
}

var pieces = sync.Pool{New: func() any { return new(piece) }}

// piece waits for the next bytes. It takes a piece only when there may be some; the caller puts it back.
func (s *tcp) piece() (*piece, error) {
	var p *piece
	n, err := s.read(func() []byte {
		if p == nil {
			p = pieces.Get().(*piece)
		}
		return p.b[:]
	}, func() {
		pieces.Put(p)
		p = nil
	})
	if err != nil && p != nil {
		pieces.Put(p)
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	p.n = n
	return p, nil
}

// serve joins one connection with a stream of its own. The stream is opened when the connection's first bytes have come:
// one that says nothing costs nothing, and no HTTP client is answered before it has asked.
func (p *ports) serve(s *tcp, name string) {
	first, err := s.piece()
	if err != nil {
		return
	}
	c, err := p.dial(name)
	if err != nil {
		pieces.Put(first)
		s.refuse(err)
		up(s, nil, err)
		return
	}
	var both sync.WaitGroup
	both.Go(func() { down(c, s) })
	_, err = c.Write(first.b[:first.n])
	pieces.Put(first)
	up(s, c, err)
	both.Wait()
	_ = c.Close()
}

// dial opens the stream of a connection.
func (p *ports) dial(name string) (*wall.Conn, error) {
	if !p.open.Load() {
		return nil, &wall.ClosedError{Reason: wall.Refused + "not before the call"}
	}
	return p.tunnel.Dial(context.Background(), name)
}

// up passes on what comes of the connection, to its end. What cannot be passed on any more, for a reason, is dropped.
func up(s *tcp, c *wall.Conn, gone error) {
	for {
		next, err := s.piece()
		if err == nil {
			if gone == nil {
				_, gone = c.Write(next.b[:next.n])
			}
			pieces.Put(next)
			continue
		}
		switch {
		case gone != nil:
		case errors.Is(err, io.EOF):
			_ = c.CloseWrite()
		default:
			_ = c.CloseWithError(fmt.Errorf("the connection in the cell broke: %w", err))
		}
		return
	}
}

// down writes to the connection what comes of the stream, to its end. A stream that ends for a reason before its first byte
// is answered in HTTP, which all of the cell's clients speak; one that breaks later breaks the connection.
func down(c *wall.Conn, s *tcp) {
	n, err := c.WriteTo(s)
	switch {
	case err == nil:
		s.closeWrite()
		if c.Ended() {
			s.setReadDeadline(time.Now().Add(lastWords))
		}
	case n == 0:
		s.refuse(err)
	default:
		s.abort()
	}
}
