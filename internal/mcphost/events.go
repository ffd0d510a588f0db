package mcphost

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of what is kept for clients whose connection broke.
const (
	keptOfSession = 16 << 20  // bytes
	keptOfAll     = 128 << 20 // bytes
	keptStreams   = 256       // of a session
	keptItems     = 4096      // of a stream
)

// events keeps what was sent to sessions for a while, so that a client can come back for what it missed. It is the SDK's
// event store with bounds on all that grows.
type events struct {
	mu       sync.Mutex
	bytes    int
	sessions map[string]*sessionEvents
}

type sessionEvents struct {
	bytes   int
	streams map[string]*streamEvents
	order   []string // the oldest first
}

type streamEvents struct {
	first int // index of the first that is kept
	items [][]byte
	bytes int
	lost  bool // its beginning is not known any more
}

func newEvents() *events { return &events{sessions: map[string]*sessionEvents{}} }

// Open implements [mcp.EventStore].
func (e *events) Open(_ context.Context, session, stream string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[session]
	if s == nil {
		s = &sessionEvents{streams: map[string]*streamEvents{}}
		e.sessions[session] = s
	}
	e.stream(s, stream, false)
	return nil
}

// stream is a session's, made anew where it is not known: lost where that is not its beginning.
func (e *events) stream(s *sessionEvents, stream string, lost bool) *streamEvents {
	st := s.streams[stream]
	if st == nil {
		st = &streamEvents{lost: lost}
		s.streams[stream] = st
		s.order = append(s.order, stream)
	}
	for len(s.order) > keptStreams {
		old := s.order[0]
		if old == "" { // the one that lasts as long as the session
			s.order = append(s.order[1:], "")
			continue
		}
		e.drop(s, s.streams[old], len(s.streams[old].items))
		delete(s.streams, old)
		s.order = s.order[1:]
	}
	return st
}

// Append implements [mcp.EventStore]. What is said in a session that has ended is not kept: nobody comes back for it.
func (e *events) Append(_ context.Context, session, stream string, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[session]
	if s == nil {
		return nil
	}
	st := e.stream(s, stream, true)
	st.items = append(st.items, data)
	st.bytes += len(data)
	s.bytes += len(data)
	e.bytes += len(data)
	if len(st.items) > keptItems {
		e.drop(s, st, keptItems/4) // many at once, for this copies the others
	}
	e.shrink(s, keptOfSession)
	for e.bytes > keptOfAll {
		most := s
		for _, other := range e.sessions {
			if other.bytes > most.bytes {
				most = other
			}
		}
		e.shrink(most, most.bytes-1)
	}
	return nil
}

// shrink drops the oldest of a session until it has no more than so many bytes.
func (e *events) shrink(s *sessionEvents, most int) {
	for _, name := range s.order {
		if st := s.streams[name]; s.bytes > most {
			e.drop(s, st, len(st.items))
		}
	}
}

func (e *events) drop(s *sessionEvents, st *streamEvents, n int) {
	for _, item := range st.items[:n] {
		st.bytes -= len(item)
		s.bytes -= len(item)
		e.bytes -= len(item)
	}
	st.first += n
	st.items = slices.Clone(st.items[n:])
}

var errDropped = errors.New("the events are not kept any more")

// After implements [mcp.EventStore].
func (e *events) After(_ context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	items, err := e.after(session, stream, index)
	return func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (e *events) after(session, stream string, index int) ([][]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[session]
	if s == nil {
		return nil, errDropped
	}
	st := s.streams[stream]
	if st != nil && stream == "" && index == -1 && st.first > 0 { // a client that begins anew, and so do the numbers
		e.drop(s, st, len(st.items))
		st.first = 0
	}
	if st == nil || st.lost || index < -1 || index+1 < st.first || index >= st.first+len(st.items) {
		return nil, errDropped
	}
	return slices.Clone(st.items[index+1-st.first:]), nil
}

// SessionClosed implements [mcp.EventStore].
func (e *events) SessionClosed(_ context.Context, session string) error {
	e.forget(session)
	return nil
}

// forget drops all of a session. A request that was under way when it ended may have begun a stream since.
func (e *events) forget(session string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[session]; s != nil {
		e.bytes -= s.bytes
		delete(e.sessions, session)
	}
}

var _ mcp.EventStore = (*events)(nil)
