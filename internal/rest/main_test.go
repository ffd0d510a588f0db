package rest

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a supervisor that has one answer and remembers what it was asked.
type fake struct {
	calls  []control.Call
	answer *a2e.CallResponse
	events []a2e.Event
	err    error
	panics bool
	paged  bool // events come from where they were asked for

	asked     []string // "list", "show", "events", "cancel"
	id        string
	limit     int
	from      int
	cancelErr error
	whose     []string // the principals that were asked for
}

func (f *fake) Of(principal string) control.Control {
	f.whose = append(f.whose, principal)
	return f
}

func (f *fake) List(_ context.Context, limit int) ([]control.Call, error) {
	if f.panics {
		panic("boom")
	}
	f.asked, f.limit = append(f.asked, "list"), limit
	return f.calls, f.err
}

func (f *fake) Show(_ context.Context, id string) (control.Call, *a2e.CallResponse, error) {
	f.asked, f.id = append(f.asked, "show"), id
	if f.err != nil {
		return control.Call{}, nil, f.err
	}
	return f.calls[0], f.answer, nil
}

func (f *fake) Events(_ context.Context, id string, from int) ([]a2e.Event, error) {
	f.asked, f.id, f.from = append(f.asked, "events"), id, from
	if f.paged {
		return f.events[min(from, len(f.events)):], f.err
	}
	return f.events, f.err
}

func (f *fake) Cancel(_ context.Context, id string) error {
	f.asked, f.id = append(f.asked, "cancel"), id
	return f.cancelErr
}
