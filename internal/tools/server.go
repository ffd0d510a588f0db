package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How long a server is waited for.
const (
	connectTimeout = 10 * time.Second // to start, shake hands and list its tools
	useTimeout     = time.Minute      // of one use, where the configuration does not say
	calmDown       = 2 * time.Second  // after a failure, before the next attempt
)

// server is an MCP server: its connection, as long as there is one, and its tools as it listed them last.
type server struct {
	name    string
	cfg     Server
	resolve func(string) (string, error)
	log     *slog.Logger
	changed func() // its list of tools is another one

	base  context.Context // ends with the box
	tasks *sync.WaitGroup

	mu       sync.Mutex
	session  *mcp.ClientSession // nil: not connected
	attempt  *attempt           // under way; nil: none
	failed   error              // why the last attempt failed
	failedAt time.Time
	tools    []*remote
	listed   bool              // tools was filled once
	stale    bool              // the list has changed while it was asked for
	listing  bool              // the tools of the connection are being listed again
	hidden   *strings.Replacer // takes out what the last attempt gave the server
}

// attempt is one attempt to connect. Its fields are set before done is closed.
type attempt struct {
	done    chan struct{}
	session *mcp.ClientSession
	err     error
}

func newServer(base context.Context, name string, cfg Server, opt BoxOptions, tasks *sync.WaitGroup, changed func()) *server {
	if cfg.Timeout == 0 {
		cfg.Timeout = useTimeout
	}
	return &server{
		name: name, cfg: cfg, resolve: opt.Resolve, log: opt.Log.With("mcp", name), changed: changed, base: base, tasks: tasks,
	}
}

// known returns the tools as they were listed last; ok is false as long as they never were.
func (s *server) known() (tools []*remote, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools, s.listed
}

func (s *server) noTool(tool string) string {
	return fmt.Sprintf("the MCP server %q has no tool %q", s.name, clip(tool))
}

// ready connects to the server unless it is connected, and waits for it.
func (s *server) ready(ctx context.Context) (*mcp.ClientSession, error) {
	s.mu.Lock()
	if s.session != nil {
		defer s.mu.Unlock()
		return s.session, nil
	}
	if s.attempt == nil {
		if s.failed != nil && time.Since(s.failedAt) < calmDown {
			defer s.mu.Unlock()
			return nil, s.failed
		}
		if s.base.Err() != nil {
			defer s.mu.Unlock()
			return nil, errClosed
		}
		s.attempt = &attempt{done: make(chan struct{})}
		s.tasks.Go(s.connect)
	}
	a := s.attempt
	s.mu.Unlock()
	select {
	case <-a.done:
		return a.session, a.err
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return nil, fmt.Errorf("the MCP server %q did not answer in time", s.name)
		}
		return nil, fmt.Errorf("waiting for the MCP server %q: %w", s.name, context.Cause(ctx))
	}
}

// rest returns once nobody starts anything new, after the box's end.
func (s *server) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

var errClosed = errors.New("hotcell is shutting down")

// connect makes the attempt that is under way.
func (s *server) connect() {
	session, err := s.dial()
	var list []*remote
	if err == nil {
		list, err = s.list(session)
		if err != nil {
			_ = session.Close()
		}
	}
	if err != nil {
		session, err = nil, &unreachable{s.name, err}
		s.log.Info("MCP server not reached", "error", err)
	}
	a, changed := s.settle(session, list, err)
	if changed {
		s.changed()
	}
	a.session, a.err = session, err
	close(a.done)
}

// settle ends the attempt that is under way. A connection is never there without its list.
func (s *server) settle(session *mcp.ClientSession, list []*remote, err error) (a *attempt, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, s.attempt = s.attempt, nil
	s.session, s.failed, s.failedAt = session, err, time.Now()
	stale := s.stale
	s.stale = false
	if err != nil {
		return a, false
	}
	changed = s.replace(list)
	s.tasks.Go(func() { s.watch(session) })
	if stale {
		s.again()
	}
	return a, changed
}

// replace makes a list the current one. The caller holds mu.
func (s *server) replace(list []*remote) (changed bool) {
	changed = !s.listed || !same(s.tools, list)
	s.tools, s.listed = list, true
	return changed
}

// unreachable says that a server could not be connected to, in words that hold nothing of its configuration but its name.
type unreachable struct {
	server string
	cause  error
}

func (e *unreachable) Error() string {
	return fmt.Sprintf("the MCP server %q does not answer: %v", e.server, e.cause)
}

func (e *unreachable) Unwrap() error { return e.cause }

// watch notices the end of a connection, from either side, and leaves nothing of it behind.
func (s *server) watch(session *mcp.ClientSession) {
	gone := make(chan struct{})
	s.tasks.Go(func() {
		defer close(gone)
		_ = session.Wait()
	})
	select {
	case <-gone:
		s.log.Info("MCP server gone")
	case <-s.base.Done():
	}
	s.drop(session)
}

// drop forgets a connection, so that the next use makes another.
func (s *server) drop(session *mcp.ClientSession) {
	s.mu.Lock()
	if s.session == session {
		s.session = nil
	}
	s.mu.Unlock()
	_ = session.Close()
}

// list asks for the tools.
func (s *server) list(session *mcp.ClientSession) ([]*remote, error) {
	ctx, cancel := context.WithTimeout(s.base, connectTimeout)
	defer cancel()
	var out []*remote
	for t, err := range session.Tools(ctx, nil) {
		if err = cmp.Or(err, ctx.Err()); err != nil { // schemas of a server's take their time, too
			return nil, err
		}
		if r := newRemote(s.name, &s.cfg, t); r != nil {
			out = append(out, r)
		}
		if len(out) == mostRemotes {
			s.log.Warn("MCP server has too many tools; the rest is left out", "most", mostRemotes)
			break
		}
	}
	return out, nil
}

// relist is what a server asks for when its list has changed. It runs beside the connection's reader, which must not wait.
func (s *server) relist(session *mcp.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.attempt != nil:
		s.stale = true // what the attempt has listed may be old already
	case s.session == session:
		s.again()
	}
}

// again has the tools of the current connection listed in the background. The caller holds mu.
func (s *server) again() {
	switch {
	case s.base.Err() != nil:
	case s.listing: // one at a time, however often the server says so
		s.stale = true
	default:
		s.listing = true
		s.tasks.Go(s.refresh)
	}
}

// refresh lists the tools until nothing has changed meanwhile.
func (s *server) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for again := true; again && s.session != nil; again = s.stale {
		session := s.session
		s.stale = false
		s.mu.Unlock()
		list, err := s.list(session)
		if err != nil {
			s.log.Warn("tools not listed again", "error", s.hide(scrub(err, []string{s.cfg.URL}, nil).Error()))
		}
		s.mu.Lock()
		if err == nil && s.session == session && s.replace(list) {
			s.changed()
		}
	}
	s.listing = false
}

// call uses a tool.
func (s *server) call(ctx context.Context, tool string, args map[string]any) (any, error) {
	session, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout, fmt.Errorf("no answer within %s", s.cfg.Timeout))
	defer cancel()
	res, err := session.CallTool(limited, &mcp.CallToolParams{Name: tool, Arguments: args})
	switch {
	case err == nil:
		return s.told(res)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case limited.Err() != nil:
		return nil, context.Cause(limited)
	}
	var refused *jsonrpc.Error
	if errors.As(err, &refused) {
		return nil, errors.New(cut(s.hide(refused.Message), maxError))
	}
	s.log.WarnContext(ctx, "MCP server lost in the middle of a use", "tool", tool, "error", s.hide(scrub(err, append([]string{s.cfg.URL}, s.cfg.Command...), nil).Error()))
	s.drop(session)
	return nil, fmt.Errorf("the MCP server %q went away in the middle: what it did is not known", s.name)
}
