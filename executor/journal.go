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
	Index
	// Trim removes what has been kept long enough. Whoever owns the supervisor runs it at boot and now and then.
	Trim(ctx context.Context) error
}

// Ledger is the part of a [Journal] that calls wait for: what it has taken is there after a crash of this process.
type Ledger interface {
	// Accept takes a call in before anything is made for it or is heard of it. If the same caller sent the same request id in a call that is in
	// flight, or in one that ended after since with an answer that says something about the request, it returns that one and takes nothing.
	// A [control.OverError] says that it has taken the call in, which is not to run: its principal has its share of calls already.
	// Only a journal that several supervisors share through a server counts them.
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
	// Ask keeps what a call was asked, a [control.Request] as JSON.
	Ask(call string, request json.RawMessage)
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

// Index is the part of a [Journal] that is searched and counted.
type Index interface {
	// Search returns the calls that are meant, the newest first by their [control.Place]: up to one more than a page has.
	Search(ctx context.Context, whose control.Whose, q control.CallQuery) ([]control.Call, error)
	// Stats returns numbers of the calls that have ended.
	Stats(ctx context.Context, whose control.Whose, q control.StatsQuery) (*control.Stats, error)
	// Request returns what the call with this id was asked, as [Diary] got it; nil where that is not kept.
	Request(ctx context.Context, id string) (json.RawMessage, error)
	// Policy returns the policy that the call with this id ran under, which its record had at its end; nil where it had none, or
	// it is not kept.
	Policy(ctx context.Context, id string) (*control.Ran, error)
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
func (forgetful) Search(context.Context, control.Whose, control.CallQuery) ([]control.Call, error) {
	return nil, nil
}
func (forgetful) Stats(_ context.Context, _ control.Whose, q control.StatsQuery) (*control.Stats, error) {
	return q.Empty(), nil
}
func (forgetful) Ask(string, json.RawMessage)                              {}
func (forgetful) Request(context.Context, string) (json.RawMessage, error) { return nil, nil }
func (forgetful) Policy(context.Context, string) (*control.Ran, error)     { return nil, nil }
func (forgetful) Trim(context.Context) error                               { return nil }
