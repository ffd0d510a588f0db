package mcphost

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/auth"
)

const (
	maxUnanswered = 512             // requests of a client that were not answered yet; beyond them nothing is read
	closeWithin   = 5 * time.Second // for a client on stdio to take the last answers
	stallsAfter   = time.Minute     // in which a client takes nothing of one message
)

// ErrFaults: the client sent too much in a row that is no message.
var ErrFaults = errors.New("too many faults in a row: this is no MCP client")

// ErrStalled: the client has not taken what it was sent.
var ErrStalled = errors.New("the client reads nothing any more")

// ServeStdio serves one client, who, on r and w until r ends, which cancels its calls, or until ctx does. It closes r where
// that can be closed.
func (h *Host) ServeStdio(ctx context.Context, r io.Reader, w io.Writer, who auth.Identity) error {
	p := h.newPeer(h.life, who.Caller(Door), "")
	p.lasts = true
	defer p.end()
	pipe := &stdio{in: newLines(r, w), closed: make(chan struct{}), waiting: map[jsonrpc.ID]bool{}, freed: make(chan struct{}, 1)}
	conn, err := p.server.Connect(context.WithoutCancel(ctx), pipe, nil)
	if err != nil {
		return err
	}
	defer h.watch.add(p)()
	ended := make(chan error, 1)
	var waiting sync.WaitGroup // not the host's: a client that reads nothing must not keep it
	waiting.Go(func() { ended <- conn.Wait() })
	select {
	case err := <-ended:
		return err
	case <-pipe.in.out.stalled:
		return ErrStalled
	case <-ctx.Done():
	}
	p.end()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	pipe.answered(late) // once it is closing the SDK sends no answers
	waiting.Go(func() { _ = conn.Close() })
	select {
	case <-ended:
		waiting.Wait()
	case <-late.Done():
		_ = pipe.inner.Close()
	}
	return nil
}

// stdio is the SDK's transport over pipes, where a client can neither break the session by what is no message nor have more
// than a bounded number of requests in flight.
type stdio struct {
	in    *lines
	inner mcp.Connection

	mu      sync.Mutex
	waiting map[jsonrpc.ID]bool // requests without an answer
	writing int                 // answers that are on their way
	freed   chan struct{}       // has something when waiting shrank
	once    sync.Once
	closed  chan struct{}
}

// Connect implements [mcp.Transport].
func (s *stdio) Connect(ctx context.Context) (mcp.Connection, error) {
	var err error
	s.inner, err = (&mcp.IOTransport{Reader: s.in, Writer: s.in.out, MaxLineLength: -1}).Connect(ctx)
	return s, err
}

// SessionID implements [mcp.Connection].
func (s *stdio) SessionID() string { return "" }

// Read implements [mcp.Connection].
func (s *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := s.inner.Read(ctx)
		req, ok := msg.(*jsonrpc.Request)
		if err != nil || !ok || !req.IsCall() {
			return msg, err
		}
		if s.take(req.ID) {
			return msg, nil
		}
		s.in.out.refuse(jsonrpc.CodeInvalidRequest, "a request with this id is being answered")
	}
}

// take notes a request, once there is room. It reports false where its id is in use.
func (s *stdio) take(id jsonrpc.ID) bool {
	for {
		s.mu.Lock()
		used, room := s.waiting[id], len(s.waiting) < maxUnanswered
		if !used && room {
			s.waiting[id] = true
		}
		s.mu.Unlock()
		if used || room {
			return !used
		}
		select {
		case <-s.freed:
		case <-s.closed:
			return true // the SDK refuses it
		}
	}
}

// answered waits until no request is without an answer.
func (s *stdio) answered(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		left := len(s.waiting) + s.writing
		s.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Write implements [mcp.Connection].
func (s *stdio) Write(ctx context.Context, msg jsonrpc.Message) error {
	if resp, ok := msg.(*jsonrpc.Response); ok {
		s.mu.Lock()
		delete(s.waiting, resp.ID)
		s.writing++
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.writing--
			s.mu.Unlock()
		}()
		select {
		case s.freed <- struct{}{}:
		default:
		}
	}
	return s.inner.Write(ctx, msg)
}

// Close implements [mcp.Connection].
func (s *stdio) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.inner.Close()
}
