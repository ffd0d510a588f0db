package executor

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// Journal keeps calls beyond the life of this process. Several supervisors may share one. It is safe for concurrent use.
type Journal interface {
	Ledger
	Diary
	Archive
	// Trim removes what has been kept long enough. Whoever owns the supervisor runs it at boot and now and then.
	Trim(ctx context.Context) error
}

// Ledger is the part of a [Journal] that calls wait for: what it has taken is there after a crash of this process.
type Ledger interface {
	// Accept takes a call in before anything is made for it or is heard of it. If the same caller sent the same request id in a call that is in
	// flight, or in one that ended after since with an answer that says something about the request, it returns that one and takes nothing.
	Accept(ctx context.Context, r control.Record, since time.Time) (earlier *control.Record, err error)
	// End notes a call's answer and returns the record that stands: the first answer does, for ever.
	End(ctx context.Context, r control.Record) (control.Record, error)
}

// Diary is the part of a [Journal] that nobody waits for. Its methods return at once; what they are given may be lost.
type Diary interface {
	// Note tells how far a call is.
	Note(call control.Call)
	// Say keeps an event of a call.
	Say(call string, seq int, artifact bool, event json.RawMessage)
}

// Archive is the part of a [Journal] that is read.
type Archive interface {
	// Find returns the call with this id, or the newest with this request id, or [control.ErrNotFound].
	// Of other principals' calls than are meant it knows nothing.
	Find(ctx context.Context, id string, whose control.Whose) (control.Record, error)
	// List returns the calls, newest first, as [control.Control] does.
	List(ctx context.Context, limit int, whose control.Whose) ([]control.Call, error)
	// Events returns events of the call with this id, in order from a sequence number on, as many as fit in one answer.
	Events(ctx context.Context, id string, from int) ([]json.RawMessage, error)
	// InFlight returns the calls without an answer, whoever runs them.
	InFlight(ctx context.Context) ([]control.Record, error)
}

// Forgetful is the journal of who has none: calls are known as long as this process lives.
var Forgetful Journal = forgetful{}

type forgetful struct{}

func (forgetful) Accept(context.Context, control.Record, time.Time) (*control.Record, error) {
	return nil, nil
}
func (forgetful) End(_ context.Context, r control.Record) (control.Record, error) { return r, nil }
func (forgetful) Note(control.Call)                                               {}
func (forgetful) Say(string, int, bool, json.RawMessage)                          {}
func (forgetful) Find(context.Context, string, control.Whose) (control.Record, error) {
	return control.Record{}, control.ErrNotFound
}
func (forgetful) List(context.Context, int, control.Whose) ([]control.Call, error) { return nil, nil }
func (forgetful) Events(context.Context, string, int) ([]json.RawMessage, error) {
	return nil, nil
}
func (forgetful) InFlight(context.Context) ([]control.Record, error) { return nil, nil }
func (forgetful) Trim(context.Context) error                         { return nil }
