package executor

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"time"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/service"
)

// charge counts a call among its principal's. Where this process knows that the principal has its quota already, the call is over;
// else the journal is asked for the same, where it counts for several supervisors. A call within a call is part of the one around it.
func (s *Supervisor) charge(ctx context.Context, c *call) {
	nested := len(service.Chain(ctx)) > 0
	stay, err := s.quotas.Enter(c.who.Principal, nested)
	if c.stay = stay; err != nil {
		errors.As(err, &c.over)
		return
	}
	if q := s.cfg.Quota; stay != nil && !nested && (q.InFlight > 0 || q.PerMinute > 0) {
		c.share = &control.Share{InFlight: q.InFlight, PerMinute: q.PerMinute}
	}
}

// metered is [Supervisor.live] for a principal that still has some of its quota, which pays for what the call uses.
func (s *Supervisor) metered(ctx context.Context, c *call, inputs fs.FS, w a2e.EventWriter) outcome {
	if c.over != nil {
		return outcome{fail: overQuota(c.over)}
	}
	defer func() {
		if !c.taking.wait().in() {
			c.stay.Unmake()
		}
		c.stay.Leave(c.used())
	}()
	return s.live(ctx, c, inputs, w)
}

func overQuota(over *admission.OverError) *a2e.Error {
	return a2e.Errorf(a2e.RuntimeError, "%w", over).Because(a2e.ReasonQuota).With("retry_after", int64(math.Ceil(over.After.Seconds()))).Transient()
}

// overShare is what the journal's word about a principal's calls means: the same as if they had all been made here.
func (s *Supervisor) overShare(over *control.OverError) *a2e.Error {
	if over.PerMinute {
		return overQuota(s.cfg.Quota.OverPerMinute(over.After))
	}
	return overQuota(s.cfg.Quota.OverInFlight())
}

// used is what a call's cell has used: processor time, and the memory that was reserved for it, in bytes times seconds.
// Where the kernel could not be asked for the processor time, the call pays for all that it was allowed.
func (c *call) used() (cpu time.Duration, memory int64) {
	view := c.now()
	if view.Started.IsZero() {
		return 0, 0
	}
	took := time.Since(view.Started)
	cpu = time.Duration(took.Seconds() * float64(c.limits.CPU) / 1000 * float64(time.Second))
	if view.Usage != nil && view.Usage.CPUMS > 0 {
		cpu = time.Duration(view.Usage.CPUMS) * time.Millisecond
	}
	return cpu, int64(took.Seconds() * float64(c.limits.Memory))
}
