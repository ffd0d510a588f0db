package rest

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// entrance is a listener with a bounded number of open connections. When it is full, a new connection takes the place
// of the one that has gone longest without a request under way: one that sent no whole header yet, or rests between
// requests. So those that only hold a place can keep nobody out. Where every place has a request, the new one waits.
type entrance struct {
	net.Listener
	most int

	mu      sync.Mutex
	changed *sync.Cond // open fell, resting grew, or closed
	open    int
	resting *list.List // of *guest, longest first
	closed  bool
}

// guest is one connection.
type guest struct {
	net.Conn
	door *entrance
	rest *list.Element // in resting, or nil
	gone bool          // has left its place
}

func newEntrance(ln net.Listener, most int) *entrance {
	e := &entrance{Listener: ln, most: most, resting: list.New()}
	e.changed = sync.NewCond(&e.mu)
	return e
}

// Accept implements [net.Listener].
func (e *entrance) Accept() (net.Conn, error) {
	c, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !e.enter() {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	return &guest{Conn: c, door: e}, nil
}

// enter takes a place, once there is one, and reports false when the entrance is closed.
func (e *entrance) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.open >= e.most && !e.closed {
		front := e.resting.Front()
		if front == nil {
			e.changed.Wait()
			continue
		}
		g := front.Value.(*guest)
		e.mu.Unlock()
		_ = g.Close()
		e.mu.Lock()
	}
	if e.closed {
		return false
	}
	e.open++
	return true
}

// follow is the server's ConnState. A connection is active from a whole header on until its answer has been sent.
func (e *entrance) follow(c net.Conn, state http.ConnState) {
	g, ok := c.(*guest)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rise(g)
	if !g.gone && (state == http.StateNew || state == http.StateIdle) {
		g.rest = e.resting.PushBack(g)
		e.changed.Signal()
	}
}

func (e *entrance) rise(g *guest) {
	if g.rest != nil {
		e.resting.Remove(g.rest)
		g.rest = nil
	}
}

// Close implements [net.Listener].
func (e *entrance) Close() error {
	e.mu.Lock()
	e.closed = true
	e.changed.Signal()
	e.mu.Unlock()
	return e.Listener.Close()
}

// Close frees the place, once.
func (g *guest) Close() error {
	g.door.leave(g)
	return g.Conn.Close()
}

func (e *entrance) leave(g *guest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if g.gone {
		return
	}
	e.rise(g)
	g.gone = true
	e.open--
	e.changed.Signal()
}
