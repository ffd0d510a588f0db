package control

import (
	"context"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Said calls f with each event that is kept of a call, in order and from the first on, until f says no or there is no more.
func Said(ctx context.Context, calls Control, id string, f func(*a2e.Event) bool) error {
	for from := 0; ; {
		events, err := calls.Events(ctx, id, from)
		if err != nil {
			return err
		}
		if len(events) == 0 || events[len(events)-1].Seq < from {
			return nil
		}
		for i := range events {
			if !f(&events[i]) {
				return nil
			}
		}
		from = events[len(events)-1].Seq + 1
	}
}
