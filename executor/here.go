package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hotcell/hotcell/executor/relay"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/trace"
	"github.com/hotcell/hotcell/internal/wall"
)

// here is the life of a call whose skill a plugin serves: the same as [Supervisor.inCell], without a cell and without the
// admission that cells need.
func (s *Supervisor) here(ctx context.Context, c *call, f found, w a2e.EventWriter) outcome {
	p, fail := s.outline(c, f.skill)
	if fail == nil {
		c.runsUnder(&p.policy)
	}
	if fail == nil && c.override != nil {
		if p.grants, fail = s.grant(ctx, c, p); fail == nil { // whoever decides about overrides has no objection
			p.grants.revoke()
		}
	}
	if fail != nil {
		return outcome{fail: fail}
	}
	c.update(func(v *control.Call) { v.Skill, v.Hosted = p.skill.Name, true })
	c.to(control.Preparing)
	if !c.taking.wait().in() {
		return outcome{}
	}
	c.to(control.Starting)
	deadline := time.Now().Add(p.policy.Timeout)
	c.update(func(v *control.Call) { v.Started, v.Deadline = time.Now(), deadline })
	s.note(c)
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, errDeadline)
	defer cancel()
	r := relay.New(relay.Options{
		ReqID: c.req.ID, Output: int64(p.policy.Limits.Output), Out: int64(p.policy.Limits.Out),
		Keep: s.keep(c, p), Deliver: s.deliver(c, w), Redact: credentialsOf(c.override),
	})
	delivered := make(chan struct{})
	c.delivered = delivered
	s.tidying.Go(func() { defer close(delivered); r.Deliver(c.listener) })
	defer s.relayed(r)
	defer r.Close()
	c.to(control.Running)
	out := s.execute(ctx, c, f.host, p, r)
	c.to(control.Stopping)
	return out
}

// execute has the plugin run its skill, and waits for that, for the deadline or for whoever cancels the call.
func (s *Supervisor) execute(ctx context.Context, c *call, h *host, p *plan, r *relay.Relay) outcome {
	running := time.Now()
	c.phase(spanRun, running)
	defer func() { s.watch.Phase("run", time.Since(running), c.spans.call.Exemplar()) }()
	run, cancel := context.WithCancel(trace.With(ctx, c.spans.phase))
	defer cancel()
	// What the plugin is given is taken now: the call may have ended, and forgotten it, before the plugin begins.
	most, who := int64(p.policy.Limits.Output), c.who
	ex := a2e.Execution{
		Name: p.skill.Name, Arguments: p.arguments, CorrelationID: c.req.CorrelationID, LLMOverride: ownOverride(c.override),
		Metadata: maps.Clone(c.metadata(c.place())), Streaming: c.req.Streams(), EmitEvent: r.Tell,
	}
	got, ended, err := enter(s, h, who, p.skill.Name, func() (*wall.Result, error) {
		res, err := h.plugin.ExecuteSkill(run, who, ex)
		if err != nil {
			return nil, err
		}
		return resultOf(res, most)
	})
	if err != nil {
		return outcome{fail: a2e.Errorf(a2e.RuntimeError, "skill %q: %w", p.skill.Name, err).Because(a2e.ReasonQueueFull).Transient()}
	}
	f := facts{}
	select {
	case <-ended:
	case <-ctx.Done():
	case m := <-r.Milestones(): // nothing but a budget comes from here
		f.Output = m.Over
	}
	cancel()
	var result *wall.Result
	var failed error
	select {
	case <-ended:
		result, failed = got()
	default:
		s.stray(c, ended)
	}
	return s.verdict(ctx, f, result, failed, c, p, r)
}

// stray waits for a plugin that goes on though its call has ended, and tells when it does not stop.
func (s *Supervisor) stray(c *call, ended <-chan struct{}) {
	s.tidying.Go(func() {
		patience := time.NewTimer(strayLimit)
		defer patience.Stop()
		select {
		case <-ended:
		case <-patience.C:
			s.logOf(c).Warn("a plugin goes on though its call has ended: it should return when its context ends")
		}
	})
}

// verdict says how a hosted call ended. The first thing that ended it counts, but for a result, which stands.
func (s *Supervisor) verdict(ctx context.Context, f facts, result *wall.Result, failed error, c *call, p *plan, r *relay.Relay) outcome {
	select {
	case m := <-r.Milestones():
		f.Output = m.Over
	default:
	}
	if errors.Is(failed, errTooLong) {
		f.Output = relay.BudgetResult
	}
	switch {
	case result != nil:
		r.Clean(result)
		f.Result = result
	case f.Output != "":
	case ctx.Err() != nil:
		f.Deadline = context.Cause(ctx) == errDeadline
		f.Cancelled, f.Canceller = !f.Deadline, canceller(ctx)
	default:
		return outcome{fail: hostedError(p.skill.Name, failed, r)}
	}
	return s.judge(&f, c, p, r)
}

var errTooLong = errors.New("its result is too long")

// resultOf turns what a plugin gives into what a cell would have said, of at most so many bytes.
func resultOf(res *a2e.Result, most int64) (*wall.Result, error) {
	if res == nil {
		return nil, errors.New("its code returned no result")
	}
	success := res.Success
	out := &wall.Result{Type: wall.TypeResult, Success: &success, Truncated: res.Truncated}
	for _, v := range []struct {
		from any
		to   *json.RawMessage
	}{{res.Data, &out.Data}, {res.Summary, &out.Summary}} {
		if v.from == nil {
			continue
		}
		b, err := json.Marshal(v.from)
		if err != nil {
			return nil, fmt.Errorf("its result has no JSON form: %w", err)
		}
		*v.to = b
	}
	if int64(len(out.Data)+len(out.Summary)) > most {
		return nil, errTooLong
	}
	if res.Error != nil {
		out.Error = *res.Error
	}
	if res.ErrorCode != nil {
		out.ErrorCode = *res.ErrorCode
	}
	return out, nil
}

// mostDetail bounds what a plugin's error says beside its message, as JSON.
const mostDetail = 64 << 10

// hostedError is the answer for a plugin's error. One with a code is taken as it is; its value stays the plugin's.
func hostedError(name string, err error, r *relay.Relay) *a2e.Error {
	said := func(message string) string {
		res := wall.Result{Error: clip(message, maxMessage)}
		r.Clean(&res)
		return res.Error
	}
	var e *a2e.Error
	if !errors.As(err, &e) {
		fail := a2e.Errorf(a2e.SkillError, "%s", said(fmt.Sprintf("skill %q: %v", name, err)))
		if errors.Is(err, errPanicked) || errors.Is(err, errBrokeOff) {
			fail.Because(reasonPanic)
		}
		return fail
	}
	own := *e
	own.Message, own.Detail = said(e.Message), maps.Clone(e.Detail)
	if b, err := json.Marshal(own.Detail); err != nil || len(b) > mostDetail {
		own.Detail = nil
	}
	if !own.Code.Known() {
		own.Code = a2e.SkillError
		own.With("skill_code", clip(string(e.Code), 128))
	}
	return &own
}

// reasonPanic is the reason of a plugin that broke off.
const reasonPanic = "panic"

// credentialsOf are the values that must not come back out of a skill that was given them.
func credentialsOf(override *a2e.LLMConfig) (values [][]byte) {
	if override == nil {
		return nil
	}
	for _, v := range override.ProviderCredentials {
		if text, ok := v.(string); ok {
			values = append(values, []byte(text))
		}
	}
	return values
}
