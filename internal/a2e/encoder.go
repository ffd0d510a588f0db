package a2e

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// Encoder writes messages as NDJSON: one compact object a line, one Write each. It is safe for concurrent use.
type Encoder struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewEncoder returns an Encoder that writes to w.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w: w} }

// Encode writes m with the empty fields of its header filled in; m itself is left as it is. A message that cannot be
// encoded is an error and nothing of it is written. After a failed Write every Encode returns that Write's error, since
// half a line may have gone out.
func (e *Encoder) Encode(m Message) error {
	line, err := encode(stamped(m))
	if err != nil {
		return &EncodeError{Err: err}
	}
	line = append(line, '\n')
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return e.err
	}
	_, e.err = e.w.Write(line)
	return e.err
}

// EncodeError says that a message has no JSON form. Nothing of it was written, so the stream is still good.
type EncodeError struct{ Err error }

// Error returns the cause's text.
func (e *EncodeError) Error() string { return "encode message: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *EncodeError) Unwrap() error { return e.Err }

// encode is [marshal] for a message. What a message encodes itself is compact already: json would go over it again, with as
// much memory.
func encode(m Message) ([]byte, error) {
	if own, ok := m.(json.Marshaler); ok {
		return own.MarshalJSON()
	}
	return marshal(m)
}

// marshal is [json.Marshal] without HTML escaping.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// stamped returns a copy of m whose header is complete. It copies, because one stored answer may go out on several
// connections at once.
func stamped(m Message) Message {
	switch m := m.(type) {
	case *DiscoverRequest:
		c := *m
		return stamp(&c, TypeDiscoverRequest)
	case *DiscoverResponse:
		c := *m
		return stamp(&c, TypeDiscoverResponse)
	case *CallRequest:
		c := *m
		return stamp(&c, TypeCallRequest)
	case *CallResponse:
		c := *m
		stamp(&c, TypeCallResponse)
		if c.CreatedAt == 0 {
			c.CreatedAt = c.TS
		}
		return &c
	case *Event:
		c := *m
		return stamp(&c, TypeEvent)
	case *HandshakeRequest:
		c := *m
		return stamp(&c, TypeHandshakeRequest)
	case *HandshakeResponse:
		c := *m
		return stamp(&c, TypeHandshakeResponse)
	case *Ping:
		c := *m
		return stamp(&c, TypePing)
	case *Pong:
		c := *m
		return stamp(&c, TypePong)
	case *Shutdown:
		c := *m
		return stamp(&c, TypeShutdown)
	case *ErrorMessage:
		c := *m
		return stamp(&c, TypeError)
	}
	return m
}

// HeaderOf returns a copy of m's header.
func HeaderOf(m Message) Header { return *m.header() }

func stamp(m Message, typ string) Message {
	h := m.header()
	if h.Type == "" {
		h.Type = typ
	}
	if h.ID == "" {
		h.ID = NewID()
	}
	if h.Version == "" {
		h.Version = Version
	}
	if h.TS == 0 {
		h.TS = Now()
	}
	return m
}
