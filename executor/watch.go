package executor

import (
	"context"
	"errors"
	"time"

	"github.com/hotcell/hotcell/executor/relay"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/skills"
)

// customLabel is what metrics call the skills of users: their names are no business of others, and without bound.
const customLabel = "custom"

func labelOf(skill *skills.Skill) string {
	if skill.Source == skills.SourceUser {
		return customLabel
	}
	return skill.Name
}

// tellInFlight tells how many calls are under way. One at a time: of two that end together the last to tell is the last to look,
// or the number would stay wrong until the next call.
func (s *Supervisor) tellInFlight() {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.watch.InFlight(s.calls.inFlight())
}

// relayed tells what came out of a cell.
func (s *Supervisor) relayed(r *relay.Relay) {
	n := r.Count()
	s.watch.Relayed(n.Events, n.Bytes, n.Dropped, n.Truncated)
}

// resolved tells how a call got its image.
func (s *Supervisor) resolved(ctx context.Context, began time.Time, err error) {
	outcome := "engine_unavailable"
	switch {
	case err == nil:
		outcome = "ok"
	case ctx.Err() != nil:
		outcome = "cancelled"
	case errors.As(err, new(*images.UnavailableError)), errors.Is(err, context.DeadlineExceeded):
		outcome = "unavailable"
	}
	s.watch.Resolved(outcome, time.Since(began))
}
