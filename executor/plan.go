package executor

import (
	"context"
	"errors"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// plan is what is decided about a call before anything is made for it.
type plan struct {
	skill     *skills.Skill
	arguments map[string]any // the call's, over the skill's defaults, valid
	policy    policies.Effective
	tenant    string // whose its cell is
	grants    *grants
	place     a2e.Trace // where in a trace the skill runs; the zero value until it does
}

// plan validates the arguments, narrows the policy and has the services grant what it allows. Who gets a
// plan revokes its grants.
func (s *Supervisor) plan(ctx context.Context, c *call, skill *skills.Skill) (*plan, *a2e.Error) {
	p, fail := s.outline(c, skill)
	if fail != nil {
		return nil, fail
	}
	c.limits = p.policy.Limits
	c.runsUnder(&p.policy)
	if fail := checkSize(c, p); fail != nil {
		return nil, fail
	}
	var err error
	if p.tenant, err = s.cfg.Tenant(c.who); err != nil {
		return nil, a2e.Errorf(a2e.RuntimeError, "%w", err).Because(a2e.ReasonUnsupported)
	}
	s.openUses(c)
	p.grants, fail = s.grant(ctx, c, p)
	return p, fail
}

// outline is the part of a plan that grants nothing.
func (s *Supervisor) outline(c *call, skill *skills.Skill) (*plan, *a2e.Error) {
	if fail := s.decideOverride(c); fail != nil {
		return nil, fail
	}
	arguments, err := skill.Arguments(c.req.Arguments)
	if err != nil {
		return nil, a2e.AsError(err)
	}
	asked := policies.Policy{}
	if c.req.Timeout != nil {
		if *c.req.Timeout <= 0 {
			return nil, a2e.Errorf(a2e.SchemaViolation, "timeout: expected a whole number of seconds above 0, got %d", *c.req.Timeout)
		}
		asked.Timeout = time.Duration(min(*c.req.Timeout, 1<<31)) * time.Second
	}
	policy, err := s.narrowed.of(s.cfg.Policy, skill, asked)
	if err != nil {
		return nil, a2e.Errorf(a2e.RuntimeError, "skill %q: %w", skill.Name, err).Because(a2e.ReasonUnsupported)
	}
	return &plan{skill: skill, arguments: arguments, policy: policy}, nil
}

// checkSize makes sure that the request fits where the cell keeps it: one line no longer than limits.output, and a file on
// the small tmpfs of the runner.
func checkSize(c *call, p *plan) *a2e.Error {
	limits := p.policy.Limits
	room := min(limits.Output, policies.RunSize(limits.Memory)/4*3)
	req := requestFor(c, p)
	if most, ok := atMost(req); ok && policies.Bytes(most) <= room { // as nearly all are: it need not be written for that
		return nil
	}
	b, err := req.MarshalJSON()
	if err != nil {
		return a2e.Errorf(a2e.SchemaViolation, "arguments: %w", err)
	}
	if size := policies.Bytes(len(b)); size > room {
		return a2e.Errorf(a2e.SchemaViolation, "arguments: the request is %d bytes long, this skill's cell takes %d: hand large data in as a file, or raise limits.output and limits.memory",
			size, room)
	}
	return nil
}

// requestFor is the request as the skill may see it: with merged arguments, without credentials. Its timeout is still
// the caller's.
func requestFor(c *call, p *plan) *a2e.CallRequest {
	req := *c.req
	req.Header.Type, req.Version = a2e.TypeCallRequest, a2e.Version
	req.Arguments, req.Metadata = p.arguments, c.metadata(p.place)
	return &req
}

// imageRef names the skill's image, "" where nothing does.
func (s *Supervisor) imageRef(skill *skills.Skill) string {
	if skill.Run.Image != "" {
		return skill.Run.Image
	}
	return images.Default(s.cfg.DefaultImages, skill.Run.Kind)
}

// image makes sure that the skill's image is present and pinned.
func (s *Supervisor) image(ctx context.Context, skill *skills.Skill) (images.Image, *a2e.Error) {
	ref := s.imageRef(skill)
	if ref == "" {
		return images.Image{}, a2e.Errorf(a2e.RuntimeError, "skill %q names no image and there is no default for %q: set run.image, or images.defaults in the configuration",
			skill.Name, skill.Run.Kind).Because(a2e.ReasonImageUnavailable)
	}
	if err := s.cfg.AllowImage(ref); err != nil {
		return images.Image{}, a2e.Errorf(a2e.RuntimeError, "%w", err).Because(a2e.ReasonImageUnavailable)
	}
	pull, cancel := context.WithTimeout(ctx, s.cfg.PullTimeout)
	defer cancel()
	began := time.Now()
	img, err := s.cfg.Images.Resolve(pull, ref, s.cfg.Pull)
	s.resolved(ctx, began, err)
	var gone *images.UnavailableError
	switch {
	case err == nil:
		return img, nil
	case ctx.Err() != nil:
		return img, cancelledBy(canceller(ctx))
	case errors.As(err, &gone):
		e := a2e.Errorf(a2e.RuntimeError, "%w", gone).Because(a2e.ReasonImageUnavailable)
		e.Retryable = gone.Retryable
		return img, e
	case errors.Is(err, context.DeadlineExceeded):
		return img, a2e.Errorf(a2e.RuntimeError, "image %s: not fetched within %s", ref, s.cfg.PullTimeout).Because(a2e.ReasonImageUnavailable).Transient()
	}
	return img, s.engineError(err)
}

// engineError classifies what went wrong on an engine before a cell ran.
func (s *Supervisor) engineError(err error) *a2e.Error {
	switch {
	case errors.Is(err, sandbox.ErrUnavailable):
		return lostError("", err)
	case errors.Is(err, sandbox.ErrUnsupported):
		return a2e.Errorf(a2e.RuntimeError, "%w", err).Because(a2e.ReasonUnsupported)
	case errors.Is(err, sandbox.ErrNotFound): // it was there a moment ago
		return a2e.Errorf(a2e.RuntimeError, "%w", err).Because(a2e.ReasonImageUnavailable).Transient()
	}
	return a2e.Errorf(a2e.SandboxCrash, "%w", err).Because(a2e.ReasonStartFailed)
}
