package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

// counter is an [audit.Log] that counts what calls use between the two.
type counter interface {
	Open(call string)
	Close(call string) *control.Uses
}

// ran is what a call was made of and how its cell ended, as far as it got. Only the goroutine that serves the call has it.
type ran struct {
	correlation string
	skill       *skills.Skill
	policy      *policies.Effective
	image       images.Image
	end         facts
	uses        *control.Uses
}

// Bounds on the groups of a caller that the audit names.
const (
	mostGroups  = 64
	groupsBytes = 4 << 10
)

// account is what the audit says of a call that was made of what ran has.
func (s *Supervisor) account(c *call, ran *ran) *control.Account {
	a := &control.Account{Groups: groupsOf(c.who), Admin: c.who.Admin, Correlation: ran.correlation, Uses: ran.uses}
	if sk := ran.skill; sk != nil {
		a.Version, a.Source, a.Bundle = audit.Text(sk.Version), audit.Text(sk.Source), sk.Bundle.Digest
	}
	if p := ran.policy; p != nil {
		a.Policy, a.Runtime = policyDigest(p), audit.Text(p.Runtime)
	}
	if img := ran.image; img.ID != "" {
		a.Image, a.Ref, a.Pinned, a.Driver = img.ID, audit.Text(img.Ref), audit.Text(img.RepoDigest), s.cfg.Driver.Name()
	}
	f := &ran.end
	switch {
	case f.Exit != nil:
		code := f.Exit.ExitCode
		a.Exit, a.Signal = &code, f.Exit.Signal
	case f.Engine != nil:
		code := f.Engine.Code
		a.Exit = &code
	}
	a.OOM, a.Pressure, a.EngineLost, a.Budget = f.oom(), f.pressure(), f.EngineLost != nil, f.Output
	return a
}

// accountDelay is how long a call runs before the journal is told what it is made of. Short ones are told about at their end alone.
const accountDelay = 100 * time.Millisecond

// tellAccount has the journal know what a call is made of, should this supervisor not live to its end. The cell is at work by
// then: nobody waits.
func (s *Supervisor) tellAccount(c *call) (stop func() bool) {
	ran := c.ran
	return time.AfterFunc(accountDelay, func() {
		a := s.account(c, &ran)
		c.update(func(v *control.Call) { v.Account = a })
		s.note(c)
	}).Stop
}

// openUses begins to count what a call uses, which ends with closeUses.
func (s *Supervisor) openUses(c *call) {
	if n, ok := s.cfg.Audit.(counter); ok {
		n.Open(c.id)
	}
}

func (s *Supervisor) closeUses(c *call) {
	if n, ok := s.cfg.Audit.(counter); ok {
		c.ran.uses = n.Close(c.id)
	}
}

func groupsOf(who a2e.Caller) (groups []string) {
	room := groupsBytes
	for _, g := range slices.Sorted(maps.Keys(who.Groups)) {
		text := audit.Text(g + "=" + who.Groups[g])
		if room -= len(text); len(groups) == mostGroups || room < 0 {
			return append(groups, "…")
		}
		groups = append(groups, text)
	}
	return groups
}

// policyDigest is the sha-256 of an effective policy as JSON, in hex. Which party cut what is no part of it.
func policyDigest(p *policies.Effective) string {
	b, err := json.Marshal(struct {
		Limits  policies.Limits
		Timeout time.Duration
		Network policies.Network
		Runtime string
		Writes  bool
		LLM     *policies.LLM
		Secrets []string
	}{p.Limits, p.Timeout, p.Network, p.Runtime, p.Writes, p.LLM, p.Secrets})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// recordLimit is how long an operator's act waits for the audit.
const recordLimit = 2 * time.Second

// recordCancel tells the audit that an operator cancelled a call. The call is cancelled by then, whatever becomes of this.
func (s *Supervisor) recordCancel(ctx context.Context, c *call) {
	r, ok := s.cfg.Audit.(audit.Recorder)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordLimit)
	defer cancel()
	view := c.now()
	data := map[string]any{"principal": c.who.Principal, "state": string(view.State)}
	if err := r.Record(ctx, audit.Entry{At: time.Now(), Kind: audit.CallCancel, Call: c.id, Skill: view.Skill, Data: data}); err != nil {
		s.log.Error("an operator's cancellation is not in the audit", "call", c.id, "error", err)
	}
}
