package a2e

import "context"

// Caller is who asks, as the front door knows it. Principal and Agent are empty where nothing authenticates.
type Caller struct {
	Principal string // who pays and is accountable
	Agent     string // agent_id of the handshake
	Door      string // stdio, socket, http, cli

	Groups map[string]string // by group of the principal its role there: member, admin or owner. Nobody changes it
	Admin  bool              // an operator, who may do everything that operators do
}

// Handler answers A2E requests. Front doors know it and nothing of what stands behind.
type Handler interface {
	// Discover returns the skills that the caller may see and that match the filters.
	Discover(ctx context.Context, who Caller, req *DiscoverRequest) ([]Definition, error)

	// Call runs a skill and returns the one terminal answer, never nil. Events go to w in order, and never after the
	// return. Cancelling ctx cancels the call.
	Call(ctx context.Context, who Caller, req *CallRequest, w EventWriter) *CallResponse
}

// EventWriter takes the events of one call. An error means that nobody listens any more; the call goes on.
type EventWriter interface {
	WriteEvent(ctx context.Context, ev *Event) error
}

// EventWriterFunc is a function as an [EventWriter].
type EventWriterFunc func(ctx context.Context, ev *Event) error

// WriteEvent calls f.
func (f EventWriterFunc) WriteEvent(ctx context.Context, ev *Event) error { return f(ctx, ev) }
