package executor

import (
	"context"
	"slices"

	"github.com/hotcell/hotcell/internal/control"
)

// Search implements [control.Book]: the calls in flight here as they are now, and what else the journal knows.
func (s *Supervisor) Search(ctx context.Context, whose control.Whose, q control.CallQuery) (control.CallPage, error) {
	if err := q.Check(); err != nil {
		return control.CallPage{}, err
	}
	here := s.unsettled(whose) // before the journal is read: what ends in between is found there
	kept, err := s.journal.Search(ctx, whose, q)
	if err != nil {
		return control.CallPage{}, err
	}
	return pageOf(&q, kept, here), nil
}

// unsettled returns the calls of which the journal does not have the end, by id: those in flight, those whose answer it could not
// take yet, and all where there is no journal.
func (s *Supervisor) unsettled(whose control.Whose) map[string]control.Call {
	_, forgets := s.journal.(forgetful)
	here := map[string]control.Call{}
	for _, c := range s.calls.newest(0, whose) {
		if forgets || !c.hasEnded() || c.owed.Load() {
			here[c.id] = c.shown()
		}
	}
	return here
}

// pageOf makes a page of what the journal found, which is complete as far as it goes, and of the calls that are known better here.
func pageOf(q *control.CallQuery, kept []control.Call, here map[string]control.Call) control.CallPage {
	most := q.Most()
	var bottom *control.Place // of what is known
	if len(kept) > most {
		p := kept[len(kept)-1].Place()
		bottom = &p
	}
	calls := []control.Call{}
	for _, c := range kept {
		if _, live := here[c.ID]; live && !c.State.Terminal() {
			continue
		}
		delete(here, c.ID)
		calls = append(calls, c)
	}
	before, top := control.PlaceOf(q.Before)
	for _, c := range here {
		p := c.Place()
		if q.Matches(&c) && (top != nil || p.Compare(before) < 0) && (bottom == nil || p.Compare(*bottom) >= 0) {
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b control.Call) int { return b.Place().Compare(a.Place()) })
	switch {
	case len(calls) > most:
		calls = calls[:most]
		return control.CallPage{Calls: calls, Next: calls[most-1].Place().Cursor()}
	case bottom != nil:
		return control.CallPage{Calls: calls, Next: bottom.Cursor()}
	}
	return control.CallPage{Calls: calls}
}

// Stats implements [control.Book].
func (s *Supervisor) Stats(ctx context.Context, whose control.Whose, q control.StatsQuery) (*control.Stats, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	return s.journal.Stats(ctx, whose, q)
}
