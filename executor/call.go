package executor

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/executor/relay"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/cleanup"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// serve is one call from its acceptance to its one answer. What it made is undone in the background: the answer never
// waits for the clean-up. The answer is nil where the journal does not take the call in: then nothing was made for it, and an
// earlier call answers in its place, or the refusal.
func (s *Supervisor) serve(ctx context.Context, c *call, inputs fs.FS, w a2e.EventWriter) (*a2e.CallResponse, awaiter, *a2e.Error) {
	defer s.serving.Done()
	began := time.Now()
	s.begin(ctx, c)
	s.charge(ctx, c)
	s.remember(c)
	out := s.survive(ctx, c, inputs, w)
	s.closeUses(c)
	s.keepRequest(c, inputs)
	c.override = nil
	taken := c.taking.wait()
	switch {
	case taken.over != nil:
		c.spare()
		out = outcome{fail: taken.over}
	case !taken.in():
		s.calls.drop(c)
		s.tellInFlight()
		c.withdraw()
		c.endSpans(nil)
		return nil, taken.earlier, taken.refused
	}
	c.next(spanAnswer)
	c.unload()
	answer := response(c, out.result, time.Since(began), out.fail)
	if s.cfg.EmbedEvents {
		embed(answer, c)
	}
	answer = s.finish(c, answer)
	s.awaitListener(c)
	c.endSpans(answer)
	return answer, nil, nil
}

// survive is [Supervisor.metered] for a supervisor that outlives its own faults: a panic costs the call that met it, and what
// that call held, and no other.
func (s *Supervisor) survive(ctx context.Context, c *call, inputs fs.FS, w a2e.EventWriter) (out outcome) {
	defer func() {
		if r := recover(); r != nil {
			s.logOf(c).Error("a call met a fault of hotcell's own", "panic", r, "stack", string(debug.Stack()))
			c.to(control.Stopping)
			out = outcome{fail: a2e.Errorf(a2e.RuntimeError, "internal error").Because(a2e.ReasonInternal)}
		}
	}()
	defer c.catchUp()
	return s.metered(ctx, c, inputs, w)
}

// outcome is how a call ended: fail is nil for success, result is what the skill gave, if anything.
type outcome struct {
	result *wall.Result
	fail   *a2e.Error
}

// live is the life of a call: plan, and then whatever serves its skill.
func (s *Supervisor) live(ctx context.Context, c *call, inputs fs.FS, w a2e.EventWriter) outcome {
	found, fail := s.find(ctx, c.who, c.req.Name, c.taking.begin)
	switch {
	case fail != nil && ctx.Err() != nil: // which is why
		return outcome{fail: cancelledBy(canceller(ctx))}
	case fail != nil:
		return outcome{fail: fail}
	}
	c.label, c.ran.skill = labelOf(found.skill), found.skill
	s.keepRequest(c, inputs)
	if found.host != nil {
		return s.here(ctx, c, found, w)
	}
	p, fail := s.plan(ctx, c, found.skill)
	if fail != nil {
		return outcome{fail: fail}
	}
	defer func() { p.grants.revoke() }()
	c.update(func(v *control.Call) { v.Skill = p.skill.Name })
	return s.inCell(ctx, c, p, inputs, w)
}

// inCell is the life of a call that has a plan: admit, make a cell, hand in, follow, classify. Each step that makes something puts
// its undoing on the stack in the next line.
func (s *Supervisor) inCell(ctx context.Context, c *call, p *plan, inputs fs.FS, w a2e.EventWriter) outcome {
	var undo cleanup.Stack
	defer s.undo(&undo) // nothing is left on it once a cell has taken it over
	ticket, caps, fail := s.queue(ctx, c, p)
	if fail != nil {
		return outcome{fail: fail}
	}
	undo.Add("ticket", func(context.Context) error { ticket.Release(); return nil })

	defer s.silence(c)
	b, fail := s.prepare(ctx, c, p, caps.Arch, w)
	if fail != nil {
		return outcome{fail: fail}
	}
	box, name := s.ahead(c, p, b)
	if box == nil {
		if !c.taking.wait().in() {
			return outcome{} // nothing is made for a call that has no record
		}
		box, name = s.lease(b)
	}
	turn, fail := s.turn(ctx, c, box)
	if fail != nil {
		return outcome{fail: fail}
	}
	defer turn(false)

	c.to(control.Starting)
	limit := newLimit(ctx, p.policy.Timeout)
	defer limit.end()
	c.update(func(v *control.Call) { v.Started, v.Deadline = time.Now(), limit.at })
	if box == nil {
		s.due(c, limit)
		s.note(c)
	}
	for ; ; box = nil {
		cl, fail := s.start(limit, c, p, b, box, name, &undo)
		turn(fail == nil)
		if fail != nil {
			c.to(control.Stopping)
			return outcome{fail: fail}
		}
		if out, dead := s.run(limit, c, p, cl, &undo, inputs, w); !dead {
			return out
		}
		if fail = s.regrant(limit, c, p); fail != nil {
			c.to(control.Stopping)
			return outcome{fail: fail}
		}
	}
}

// queue waits for a call's share of the host.
func (s *Supervisor) queue(ctx context.Context, c *call, p *plan) (*admission.Ticket, sandbox.Capabilities, *a2e.Error) {
	queued := time.Now()
	c.phase(spanQueue, queued)
	ticket, caps, fail := s.admit(ctx, c, int64(p.policy.Limits.Memory))
	s.watch.Phase("queue", time.Since(queued), c.spans.call.Exemplar())
	return ticket, caps, fail
}

// prepare has all that a call's cell is made of.
func (s *Supervisor) prepare(ctx context.Context, c *call, p *plan, arch string, w a2e.EventWriter) (*blueprint, *a2e.Error) {
	c.to(control.Preparing)
	preparing := time.Now()
	c.phase(spanPrepare, preparing)
	ctx = images.WithLater(images.WithWait(images.WithProgress(ctx, s.pulling(ctx, c, p, w)), c.taking.begin), c.postpone)
	b, fail := s.draw(ctx, c, p, arch)
	s.watch.Phase("prepare", time.Since(preparing), c.spans.call.Exemplar())
	return b, fail
}

// due has a call's time begin to run, if it does not yet.
func (s *Supervisor) due(c *call, l *limit) {
	at := l.arm()
	c.update(func(v *control.Call) { v.Deadline = at })
}

// run hands the request to a started cell, follows it to its end and retires it. Its listener may still be reading events
// when it returns: that delays neither the cell nor the verdict. dead: the cell had waited, and died of that; the call knows
// nothing of it, and has its share back. Where the journal does not take the call in, its cell is destroyed unheard.
func (s *Supervisor) run(ctx *limit, c *call, p *plan, cl *cell, undo *cleanup.Stack, inputs fs.FS, w a2e.EventWriter) (out outcome, dead bool) {
	running := time.Now()
	c.phase(spanRun, running)
	p.place = c.place()
	handed := s.handIn(ctx, cl, c, p, inputs) // first of all: the cell works while the rest is set up
	c.taking.begin()
	c.catchUp()
	s.attend(ctx, c, p, cl)
	if !c.taking.wait().in() {
		s.refused.note(c.who.Principal, time.Now())
		c.spare()
		s.retire(c, cl, facts{})
		return outcome{}, false
	}
	s.due(c, ctx)
	side := s.openSide(ctx, c, cl, p.grants)
	r := s.voice(ctx, c, p, w)
	r.Connect(side.use)
	s.tidying.Go(func() { r.Read(cl.stdio.Stdout) })
	if cl.waited && c.taking.cell != cl.box.ID() {
		s.note(c)
	}
	if p.skill.Run.Frames {
		c.to(control.Running) // no runner announces itself
	}
	defer s.tellAccount(c)()
	var f facts
	defer func() {
		side.close()
		s.retire(c, cl, f)
		r.Close()
		s.relayed(r)
		side.settle()
	}()
	f = s.follow(ctx, c, cl, r, p.skill.Run.Frames, handed)
	s.watch.Phase("run", time.Since(running), c.spans.call.Exemplar())
	if f.stillborn(ctx, cl, r) {
		s.passOn(c, cl, undo)
		return outcome{}, true
	}
	f.unsaid()
	c.to(control.Stopping)
	p.explain(r.Say)
	f.witness(cl.box)
	c.ran.end = f
	c.update(func(v *control.Call) { v.Usage, v.Confidence = f.usage(), f.confidence() })
	return s.judge(&f, c, p, r), false
}

// judge turns the facts of an end into the outcome.
func (s *Supervisor) judge(f *facts, c *call, p *plan, r *relay.Relay) outcome {
	f.Memory, f.Timeout = p.policy.Limits.Memory.String(), p.policy.Timeout.String()
	fail := classify(*f)
	if fail == nil {
		if fail = checkOutput(p.skill, f.Result); fail != nil {
			return outcome{fail: fail}
		}
	}
	n := notes(*f)
	if fail != nil {
		addNotes(fail, n)
	} else if len(n) > 0 {
		r.Say("warn", "the result stands, though its cell did not end well: %s", inWords(n))
	}
	if len(n) > 0 {
		c.update(func(v *control.Call) { v.Notes = n })
	}
	return outcome{result: f.Result, fail: fail}
}

// logEnd logs how a call ended. A skill's own words are the caller's business and may repeat its arguments: they stay out.
func (s *Supervisor) logEnd(c *call, e *a2e.Error) {
	if !s.log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	l := s.logOf(c)
	switch {
	case e == nil:
		l.Info("call ended", "code", "ok")
	case e.Code == a2e.SkillError || e.Code == a2e.SchemaViolation:
		l.Info("call ended", "code", e.Code, "reason", e.Reason())
	default:
		why := []any{"code", e.Code}
		if e.Reason() != "" {
			why = append(why, "reason", e.Reason())
		}
		why = append(why, "error", clip(e.Message, 300))
		if cause := errors.Unwrap(e); cause != nil {
			why = append(why, "cause", cause)
		}
		l.Info("call ended", why...)
	}
}

// finish records the end, in the journal first, and returns what the caller is told: the answer that stands.
func (s *Supervisor) finish(c *call, answer *a2e.CallResponse) *a2e.CallResponse {
	r, answer := s.conclude(c, answer)
	stands, err := s.write(c, r)
	switch {
	case err == nil:
		r, answer = s.settled(c, r, stands, answer)
	case s.shares():
		return s.withhold(c, r, answer)
	default:
		s.owe(c, r)
	}
	s.close(c, r, answer)
	return answer
}

// close has a call end here as its record says it did.
func (s *Supervisor) close(c *call, r control.Record, answer *a2e.CallResponse) {
	s.logEnd(c, answer.Error)
	if !c.to(r.State) {
		s.logOf(c).Error("a call skipped a state", "to", r.State)
	}
	c.update(func(v *control.Call) { v.Ended, v.Code, v.Reason = r.Ended, r.Code, r.Reason })
	c.end(r.Answer, r.Again)
	s.calls.ended(c, time.Now())
	s.watch.CallEnded(c.label, r.Call, c.spans.call.Exemplar())
	s.tellInFlight()
}
