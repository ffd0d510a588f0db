package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/executor/relay"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/cleanup"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/policies/compile"
	"github.com/hotcell/hotcell/sandbox"
)

// expiry is how long after its deadline a cell is garbage for whoever finds it.
const expiry = 5 * time.Minute

// cell is a sandbox that has started, with what belongs to it until it is destroyed.
type cell struct {
	name   string
	box    sandbox.Sandbox
	waited bool // it was started ahead of its call
	stdio  sandbox.Stdio
	mouth  *mouth
	lines  *wall.Writer // into its mouth
	undo   cleanup.Step // gives back what the cell held, once it is destroyed

	ctx    context.Context // ends when the cell is destroyed
	cancel context.CancelFunc
	exited chan struct{} // closed once the engine said how the cell ended
	exit   sandbox.Exit
	lost   error // the engine did not say
}

// blueprint is what a cell is to be, before it is anybody's: its workload has no user id and no token yet.
type blueprint struct {
	eff  policies.Effective
	work compile.Workload
	key  string // under which equal cells wait; "" if none may
	line string // what outdates what: a principal's skill says nothing about another's of the same name, nor a tenant's
}

// of is the workload of one cell: with its own user id and, wherever [compile.AnyToken] stands for it, its own token. Nothing
// else is kept of the call that it was drawn for: cells are made of it for calls to come.
func (b *blueprint) of(s *Supervisor, uid uint32, adjust func(*compile.Workload)) compile.Workload {
	work := b.work
	work.UID = uid
	adjust(&work)
	token := s.token(compile.Name(work))
	work.Env = slices.Clone(work.Env)
	for i, entry := range work.Env {
		work.Env[i] = strings.ReplaceAll(entry, compile.AnyToken, token)
	}
	return work
}

// draw pins the image, and knows then what the cell is.
func (s *Supervisor) draw(ctx context.Context, c *call, p *plan, arch string) (*blueprint, *a2e.Error) {
	img, fail := s.image(ctx, p.skill)
	if fail != nil {
		return nil, fail
	}
	c.ran.image = img
	runner, err := s.cfg.Runner(arch)
	if err != nil {
		return nil, a2e.Errorf(a2e.RuntimeError, "%w", err).Because(a2e.ReasonUnsupported)
	}
	b := &blueprint{eff: p.policy, work: s.workload(c, p, img, runner), line: p.skill.Scoped()}
	if p.tenant != "" {
		b.line = p.tenant + " " + b.line
	}
	if b.work.Engine, err = s.engine(p.skill, arch); err != nil {
		return nil, a2e.Errorf(a2e.RuntimeError, "%w", err).Because(a2e.ReasonUnsupported)
	}
	if b.key, err = s.keys.of(b); err != nil {
		return nil, uncompiled(p, err)
	}
	return b, nil
}

func uncompiled(p *plan, err error) *a2e.Error {
	return a2e.Errorf(a2e.RuntimeError, "skill %q: %w", p.skill.Name, err).Because(a2e.ReasonUnsupported)
}

func (s *Supervisor) workload(c *call, p *plan, img images.Image, runner sandbox.Tree) compile.Workload {
	return compile.Workload{
		CallID: c.id, Skill: p.skill.Name, Instance: s.cfg.Instance, Host: s.cfg.Host,
		Expires: time.Now().Add(p.policy.Timeout + expiry), Tenant: p.tenant,
		Image: sandbox.Image{ID: img.ID, Env: img.Env, Volumes: img.Volumes, Ref: img.Ref, Digest: img.RepoDigest},
		OS:    img.OS, Arch: img.Arch, Entrypoint: img.Entrypoint, Cmd: img.Cmd,
		Command: p.skill.Run.Command, Frames: p.skill.Run.Frames, Prestart: p.skill.Run.Prestart,
		Bundle: bundle(p.skill, wall.DirSkill),
		Runner: runner, Ports: p.grants.ports, Env: p.grants.env(),
	}
}

// engine is what runs the skills that have no interpreter in their image.
func (s *Supervisor) engine(skill *skills.Skill, arch string) (sandbox.Tree, error) {
	kind := skill.Run.Kind
	if kind != kindAgent && kind != kindJS {
		return sandbox.Tree{}, nil
	}
	if s.cfg.Engine == nil {
		return sandbox.Tree{}, fmt.Errorf("skill %q is of kind %s, and this hotcell was built without the engine that runs those", skill.Name, kind)
	}
	return s.cfg.Engine(arch)
}

// start starts the cell box, which was leased ahead, or leases one that waits, or makes one, all before the deadline. On failure
// nothing of it is left, or it is being undone.
func (s *Supervisor) start(ctx context.Context, c *call, p *plan, b *blueprint, box sandbox.Sandbox, name string, undo *cleanup.Stack) (*cell, *a2e.Error) {
	began := time.Now()
	s.uses.note(began, b.work.Bundle.Digest, b.work.Runner.Digest, b.work.Engine.Digest)
	if box == nil {
		box, name = s.lease(b)
	}
	waited := box != nil
	c.phase(phaseOf(waited), began)
	if !waited {
		var fail *a2e.Error
		if box, name, fail = s.create(ctx, p, b, undo); fail != nil {
			return nil, fail
		}
	}
	if late, ok := box.(sandbox.Waited); ok && !waited { // it became ready in between
		s.held.take(late.Waited())
		s.gone(name)
		waited, name = true, late.Waited()
	}
	if waited {
		s.leases.Add(1)
	} else {
		s.colds.Add(1)
	}
	s.watch.CellCreated()
	c.update(func(v *control.Call) { v.Cell, v.Unenforced = box.ID(), sandbox.Unenforced(box) })
	if !waited {
		s.note(c)
	}
	cl := &cell{name: name, box: box, waited: waited, undo: undo.Release(), exited: make(chan struct{})}
	cl.ctx, cl.cancel = context.WithCancel(s.base)
	s.tellCell(c, cl)
	if err := box.Start(ctx); err != nil {
		f := facts{}
		f.witness(box)
		c.ran.end = f
		c.update(func(v *control.Call) { v.Confidence = f.confidence() })
		s.retire(c, cl, f)
		return nil, s.startFailureOf(ctx, p, err, f.Kernel)
	}
	cl.stdio = box.Stdio()
	cl.mouth = newMouth(cl.stdio.Stdin)
	cl.lines = wall.NewWriter(cl.mouth)
	s.watch.Phase(phaseOf(waited), time.Since(began), c.spans.call.Exemplar())
	return cl, nil
}

// attend has somebody wait for a started cell's end, and read what its stdout does not say.
func (s *Supervisor) attend(ctx context.Context, c *call, p *plan, cl *cell) {
	s.tidying.Go(func() { s.observe(cl) })
	secrets := p.grants.values(ctx)
	s.tidying.Go(func() { s.stderr(c, cl.stdio.Stderr, secrets) })
}

// create makes a cell for this call alone, with a user id of its own.
func (s *Supervisor) create(ctx context.Context, p *plan, b *blueprint, undo *cleanup.Stack) (sandbox.Sandbox, string, *a2e.Error) {
	uid, release, err := s.user()
	if err != nil {
		return nil, "", a2e.Errorf(a2e.RuntimeError, "%w", err).Because(a2e.ReasonInternal).Transient()
	}
	undo.Add("user id", func(context.Context) error { release(); return nil })
	spec, err := compile.Compile(b.eff, b.of(s, uid, func(*compile.Workload) {}))
	if err != nil {
		return nil, "", uncompiled(p, err)
	}
	if b.key != "" {
		spec.Key, spec.Line, spec.Again = b.key, b.line, s.again(b)
	}
	s.held.take(spec.Name)
	box, err := s.cfg.Driver.Create(ctx, spec)
	if err != nil {
		s.unmade(ctx, spec.Name, err)
		if f, ok := s.cfg.Images.(interface{ Forget(ref string) }); ok && errors.Is(err, sandbox.ErrNotFound) {
			f.Forget(s.imageRef(p.skill)) // somebody removed it: the next call does not believe that it is there
		}
		return nil, "", s.startFailure(ctx, p, s.nameRuntimes(ctx, spec.Runtime, err))
	}
	return box, spec.Name, nil
}

// unmade gives up a cell that was not made. Where the engine's answer was lost, or nobody waited for it, the engine may have
// made it all the same: then it is looked for, unless the driver knows better.
func (s *Supervisor) unmade(ctx context.Context, name string, err error) {
	if !sandbox.IsUnmade(err) && (ctx.Err() != nil || errors.Is(err, sandbox.ErrUnavailable)) {
		s.held.lose(name)
		return
	}
	s.gone(name)
}

// nameRuntimes adds to a refusal which runtimes there are, where the one that was asked for is not among them.
func (s *Supervisor) nameRuntimes(ctx context.Context, asked string, err error) error {
	if asked == "" || !errors.Is(err, sandbox.ErrUnsupported) {
		return err
	}
	caps, failed := s.cfg.Driver.Capabilities(ctx)
	if failed != nil || len(caps.Runtimes) == 0 || slices.Contains(caps.Runtimes, asked) {
		return err
	}
	return fmt.Errorf("%w: sandbox.runtime is %q, expected one of %s", err, asked, strings.Join(caps.Runtimes, ", "))
}

// startFailure classifies an error of create or start. The caller's cancellation and the deadline come first: they are
// what made the engine call fail.
func (s *Supervisor) startFailure(ctx context.Context, p *plan, err error) *a2e.Error {
	return s.startFailureOf(ctx, p, err, nil)
}

// startFailureOf is startFailure for a cell around which the kernel may have counted something.
func (s *Supervisor) startFailureOf(ctx context.Context, p *plan, err error, kernel *sandbox.Evidence) *a2e.Error {
	f := facts{Kernel: kernel, Memory: p.policy.Limits.Memory.String(), Timeout: p.policy.Timeout.String()}
	var start *sandbox.StartError
	switch {
	case context.Cause(ctx) == errDeadline:
		f.Deadline = true
	case ctx.Err() != nil:
		f.Cancelled, f.Canceller = true, canceller(ctx)
	case errors.As(err, &start):
		f.Start = err
	default:
		return s.engineError(err)
	}
	return classify(f)
}

// observe waits for the engine's word about how the cell ended.
func (s *Supervisor) observe(cl *cell) {
	cl.exit, cl.lost = cl.box.Wait(cl.ctx)
	close(cl.exited)
}

// stderr logs the little that a runner may say there. The skill's own stderr does not come this way.
func (s *Supervisor) stderr(c *call, r io.Reader, secrets [][]byte) {
	var b [4096]byte
	n, _ := io.ReadFull(r, b[:])
	if n > 0 {
		s.logOf(c).Debug("a cell wrote to its own stderr", "text", strconv.Quote(relay.Redacted(secrets, string(b[:n]))))
	}
	_, _ = io.Copy(io.Discard, r)
}
