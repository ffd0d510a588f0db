package executor

import (
	"context"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// owned is the control over one principal's calls.
type owned struct {
	s     *Supervisor
	whose control.Whose
}

// Of implements [control.Limited].
func (s *Supervisor) Of(principal string) control.Control { return owned{s, control.Only(principal)} }

func (o owned) List(ctx context.Context, limit int) ([]control.Call, error) {
	return o.s.list(ctx, o.whose, limit)
}

func (o owned) Show(ctx context.Context, id string) (control.Call, *a2e.CallResponse, error) {
	return o.s.show(ctx, o.whose, id)
}

func (o owned) Events(ctx context.Context, id string, from int) ([]a2e.Event, error) {
	return o.s.events(ctx, o.whose, id, from)
}

func (o owned) Cancel(ctx context.Context, id string) error { return o.s.cancel(ctx, o.whose, id) }
