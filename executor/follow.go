package executor

import (
	"context"
	"errors"
	"time"

	"github.com/hotcell/hotcell/executor/relay"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// How long a call waits for what should follow at once.
const (
	resultGrace   = 4 * time.Second // of silence after a result; the runner ends a lingering skill after 2 s
	streamGrace   = 2 * time.Second // from the cell's exit to the end of its stream
	evidenceGrace = 3 * time.Second // from the end of the stream to the engine's word, where the driver does not say that it takes longer
)

// follow watches a running cell until something ends the call, and returns the facts.
func (s *Supervisor) follow(ctx context.Context, c *call, cl *cell, r *relay.Relay, frames bool, handed <-chan error) facts {
	f := facts{Frames: frames}
	var grace <-chan time.Time
	var heard uint64
	exited := cl.exited
	for {
		select {
		case <-ctx.Done():
			if !f.settled(c, r) {
				f.Deadline = context.Cause(ctx) == errDeadline
				f.Cancelled, f.Canceller = !f.Deadline, canceller(ctx)
			}
			return f
		case err := <-handed:
			handed = nil
			if errors.Is(err, errUntouched) && r.Lines() > 1 {
				continue // it speaks all the same: what it says tells why
			}
			if err != nil {
				f.Input = err
				return f
			}
		case <-exited:
			exited, grace, heard = nil, time.After(streamGrace), r.Lines()
			f.see(cl)
			s.suspect(ctx, &f)
		case <-grace:
			if lines := r.Lines(); lines != heard { // it still says something: artifacts may take their time
				heard, grace = lines, time.After(resultGrace)
				continue
			}
			if f.Result != nil {
				r.Say("warn", "the cell did not end within %s of its last word; the result stands", resultGrace)
			}
			return f
		case m := <-r.Milestones():
			if f.mark(c, m) {
				s.evidence(ctx, &f, cl)
				return f
			}
			if f.Result != nil && f.Frames {
				return f
			}
			if m.Result != nil {
				grace, heard = time.After(resultGrace), r.Lines()
			}
		}
	}
}

// mark notes a milestone, and reports whether it ends the call.
func (f *facts) mark(c *call, m relay.Milestone) bool {
	switch {
	case m.Ready:
		c.to(control.Running)
	case m.Result != nil:
		f.Result = m.Result
	case m.Exit != nil:
		f.Exit, f.Output = m.Exit, m.Exit.OutputOver
		return true
	case m.Over != "":
		f.Output = m.Over
		return true
	case m.Ended:
		f.Cut = m.Err != nil
		return true
	}
	return false
}

// settled looks at the milestones that came before the context ended and were not read yet, and reports whether the call
// had ended by then or has a result.
func (f *facts) settled(c *call, r *relay.Relay) bool {
	for {
		select {
		case m := <-r.Milestones():
			if f.mark(c, m) {
				return true
			}
		default:
			return f.Result != nil
		}
	}
}

// ping asks whether the engine still answers, afresh where the driver can.
func (s *Supervisor) ping(ctx context.Context) error {
	if p, ok := s.cfg.Driver.(sandbox.Pinger); ok {
		return p.Ping(ctx)
	}
	_, err := s.cfg.Driver.Capabilities(ctx)
	return err
}

// see notes what the engine says about the end.
func (f *facts) see(cl *cell) {
	if cl.lost != nil {
		f.EngineLost = cl.lost
		return
	}
	f.Engine = &cl.exit
}

// witness notes what the host's kernel counted around the cell. It reads a few files and waits for nobody.
func (f *facts) witness(box sandbox.Sandbox) {
	w, ok := box.(sandbox.Witness)
	if !ok {
		return
	}
	if ev := w.Evidence(); ev.Confidence == sandbox.ConfidenceKernel {
		f.Kernel = &ev
	}
}

// usage is what the cell used; nil where nobody could look.
func (f *facts) usage() *control.Usage {
	if f.Kernel == nil {
		return nil
	}
	u := f.Kernel.Usage
	return &control.Usage{
		MemoryPeakBytes: u.MemoryPeak, CPUMS: roundMS(u.CPU), ThrottledMS: roundMS(u.Throttled), PIDsPeak: u.PIDsPeak,
	}
}

// suspect asks whether the engine still answers when a cell ended without a word: one that is being stopped takes no more
// requests, and then ends what runs.
func (s *Supervisor) suspect(ctx context.Context, f *facts) {
	if f.Engine == nil || f.Exit != nil || f.Result != nil || f.oom() {
		return
	}
	if err := s.ping(ctx); errors.Is(err, sandbox.ErrUnavailable) {
		f.EngineLost = err
	}
}

// evidence asks the engine where neither the cell itself nor the kernel could tell. With a result, or with the runner's own
// count of OOM kills, nobody need be asked.
func (s *Supervisor) evidence(ctx context.Context, f *facts, cl *cell) {
	told := f.Exit != nil && f.Exit.OOMKills >= 0
	f.witness(cl.box)
	told = told || f.Kernel != nil && (f.Exit != nil || f.oom() || f.pressure())
	if f.Result != nil || told || f.Output != "" || f.Engine != nil || f.EngineLost != nil {
		return
	}
	if f.Exit != nil {
		s.tell(cl, wall.TypeDone) // the runner waits for this before it exits, and the engine speaks only then
	}
	select {
	case <-cl.exited:
		f.see(cl)
		f.witness(cl.box)
		s.suspect(ctx, f)
	case <-time.After(max(evidenceGrace, cl.stdio.Settles)):
		if err := s.ping(ctx); errors.Is(err, sandbox.ErrUnavailable) {
			f.EngineLost = err
		}
	case <-ctx.Done():
	}
}
