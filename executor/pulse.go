package executor

import (
	"context"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// Pulse implements [control.Pulsing]. Nobody is asked: it is what is known here. Before an engine has been asked it is not known how
// many cells there may be, unless the configuration says so.
func (s *Supervisor) Pulse(context.Context) control.Pulse {
	p := control.Pulse{
		Running: s.calls.inFlight(), MaxCells: s.cfg.MaxCells, Memory: s.cfg.MaxMemory,
		Leases: s.leases.Load(), Cold: s.colds.Load(), Poisoned: len(s.held.poisoned()),
		Driver: s.cfg.Driver.Name(), Runtime: s.cfg.Policy.Runtime, Instances: int(s.instances.Load()),
	}
	if queue := s.gate.now(); queue != nil {
		use := queue.Use()
		p.Queued, p.MaxCells, p.Memory, p.Reserved = use.Waiting, use.MaxCells, use.MaxMemory, use.Memory
	}
	p.Running = max(0, p.Running-p.Queued)
	if pool, ok := s.cfg.Driver.(stocked); ok {
		p.Waiting, _, _ = pool.Count()
		p.MaxWarm = pool.Max()
	}
	s.mu.Lock()
	p.Draining = s.draining
	s.mu.Unlock()
	if p.Draining {
		p.NotReady = "hotcell is shutting down"
	}
	return p
}

// stocked is a [sandbox.Pool] that tells how many cells wait.
type stocked interface {
	Count() (ready, starting, leaving int)
	Max() int
}

// takeStock looks up what is told at once when somebody asks: how many supervisors there are and, once this one has lived for a while,
// what the journal's calls come to.
func (s *Supervisor) takeStock(ctx context.Context, settled bool) {
	n := 1
	if living, ok := s.cfg.Owners.(interface{ Living() int }); ok {
		n = living.Living()
	}
	s.instances.Store(int64(n))
	if !settled {
		return
	}
	now := time.Now()
	_, err := s.journal.Stats(ctx, control.Whose{}, control.StatsQuery{Since: now.Add(-time.Hour), Until: now, Buckets: 1})
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the calls of the journal can't be counted", "error", err)
	}
}
