package executor

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"time"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/service"
)

// metered is [Supervisor.live] for a principal that still has some of its quota, which pays for what the call uses.
func (s *Supervisor) metered(ctx context.Context, c *call, inputs fs.FS, w a2e.EventWriter) outcome {
	stay, err := s.quotas.Enter(c.who.Principal, len(service.Chain(ctx)) > 0)
	var over *admission.OverError
	if errors.As(err, &over) {
		return outcome{fail: a2e.Errorf(a2e.RuntimeError, "%w", over).Because(a2e.ReasonQuota).
			With("retry_after", int64(math.Ceil(over.After.Seconds()))).Transient()}
	}
	defer func() { stay.Leave(c.used()) }()
	return s.live(ctx, c, inputs, w)
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
