package executor

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/policies/compile"
)

// firstPort is the number of a cell's first loopback port; the others follow, in the order of their names.
const firstPort = 41001

// grants are what one call may use outside of its cell, from its plan to its end.
type grants struct {
	all   []service.Grant
	ports []wall.Port // by name
	owner map[string]service.Grant
	tools service.Tooler // nil: none

	lease   []byte            // the line that makes a cell this call's; nil where it would say nothing
	secrets map[string]string // that are in it
	kept    [][]byte          // secrets that never go in

	revoking sync.Once
}

// grant asks every service what it grants. The first refusal is the call's answer, and what was granted before it is taken
// back.
func (s *Supervisor) grant(ctx context.Context, c *call, p *plan) (*grants, *a2e.Error) {
	g := &grants{owner: map[string]service.Grant{}}
	ask := service.Ask{
		Call: c.id, Who: c.who, Skill: p.skill, Policy: p.policy, Override: c.override, Outer: service.OutermostOf(ctx), Chain: service.Chain(ctx),
	}
	for _, sv := range s.cfg.Services {
		one, err := sv.Grant(ask)
		if err == nil && one != nil {
			err = g.add(one)
		}
		if err != nil {
			g.revoke()
			return nil, a2e.AsError(err)
		}
	}
	g.number()
	for _, one := range g.all {
		if k, ok := one.(service.Keeper); ok {
			for _, v := range k.Kept() {
				g.kept = append(g.kept, []byte(v))
			}
		}
	}
	if fail := g.makeLease(p); fail != nil {
		g.revoke()
		return nil, fail
	}
	return g, nil
}

// regrant replaces grants that were used for a cell which is given up: each is good for one.
func (s *Supervisor) regrant(ctx context.Context, c *call, p *plan) *a2e.Error {
	g, fail := s.grant(ctx, c, p)
	if fail == nil {
		p.grants = g
	}
	return fail
}

func (g *grants) add(one service.Grant) error {
	g.all = append(g.all, one)
	if t, ok := one.(service.Tooler); ok {
		g.tools = t
	}
	for _, port := range one.Ports() {
		if g.owner[port] != nil {
			return a2e.Errorf(a2e.RuntimeError, "port %q is granted twice", port).Because(a2e.ReasonInternal)
		}
		g.owner[port] = one
	}
	return nil
}

// number gives each port its number, which depends on the names alone.
func (g *grants) number() {
	for i, name := range slices.Sorted(maps.Keys(g.owner)) {
		g.ports = append(g.ports, wall.Port{Name: name, Number: firstPort + i})
	}
}

// env is what the cell finds in its environment, with [compile.AnyToken] for its token; nil where nothing is granted.
func (g *grants) env() []string {
	if len(g.all) == 0 {
		return nil
	}
	env := []string{wall.EnvToken + "=" + compile.AnyToken}
	for _, one := range g.all {
		env = append(env, one.Env(g.at, compile.AnyToken)...)
	}
	return env
}

// at is the address of a port within the cell; "" for one that is not granted.
func (g *grants) at(port string) string {
	for _, p := range g.ports {
		if p.Name == port {
			return "127.0.0.1:" + strconv.Itoa(p.Number)
		}
	}
	return ""
}

// names lists the ports that a cell may open.
func (g *grants) names() []string {
	var names []string
	for _, p := range g.ports {
		names = append(names, p.Name)
	}
	return names
}

// activate starts the rights of a call whose cell is there. ctx ends with the call.
func (g *grants) activate(ctx context.Context, token string) {
	for _, one := range g.all {
		one.Activate(ctx, token)
	}
}

// revoke ends the rights, once.
func (g *grants) revoke() {
	g.revoking.Do(func() {
		for _, one := range slices.Backward(g.all) {
			one.Revoke()
		}
	})
}

// values are the secrets that the cell is given, those that are used for it outside, and those of the calls around its call:
// what they passed on by accident is told as easily.
func (g *grants) values(ctx context.Context) [][]byte {
	around, _ := ctx.Value(aroundKey{}).([][]byte)
	values := slices.Clip(around)
	for _, v := range g.secrets {
		values = append(values, []byte(v))
	}
	return append(values, g.kept...)
}

// aroundKey is the key under which a context carries the secrets of the calls around a call.
type aroundKey struct{}

// makeLease writes the lease. An agent's engine learns from it what its loop obeys.
func (g *grants) makeLease(p *plan) *a2e.Error {
	agent := p.skill.Run.Kind == kindAgent
	l := wall.Lease{Type: wall.TypeLease}
	if agent {
		l.MaxTurns, l.OutputSchema = p.skill.MaxTurns, p.skill.OutputSchema
	}
	for _, one := range g.all {
		one.Lease(&l)
	}
	if fail := lacks(p, &l); fail != nil || len(g.all) == 0 && !agent {
		return fail
	}
	line, err := json.Marshal(l)
	switch {
	case err != nil:
		return a2e.Errorf(a2e.RuntimeError, "the lease of the call has no JSON form").Because(a2e.ReasonInternal)
	case len(line) > wall.MaxLine:
		return a2e.Errorf(a2e.RuntimeError, "secrets, model settings, tools and output schema of the call take %d bytes, a cell takes %d", len(line), wall.MaxLine).
			Because(a2e.ReasonUnsupported)
	}
	if _, err := wall.DecodeLease(line); err != nil { // as the runner reads it, whose refusal would cost a cell
		return a2e.Errorf(a2e.RuntimeError, "skill %q: its lease, which no cell takes: %w", p.skill.Name, err).Because(a2e.ReasonUnsupported)
	}
	g.lease, g.secrets = line, l.Secrets
	return nil
}

// lacks refuses a call that would run without what its policy says it has.
func lacks(p *plan, l *wall.Lease) *a2e.Error {
	if p.skill.Run.Kind == kindAgent && l.Model == nil {
		return a2e.Errorf(a2e.RuntimeError, "skill %q follows its instructions with a model, and no model provider is configured (llm.providers)", p.skill.Name).
			Because(a2e.ReasonUnsupported)
	}
	for _, name := range p.policy.Secrets {
		if _, ok := l.Secrets[name]; !ok {
			return a2e.Errorf(a2e.RuntimeError, "skill %q needs the secret %s, which is not configured (secrets)", p.skill.Name, name).
				Because(a2e.ReasonUnsupported)
		}
	}
	return nil
}

// The kinds of skills (Run.Kind) that the engine runs.
const (
	kindAgent = "agent" // their instructions are the program
	kindJS    = "js"
)

// newSecret makes what the tokens of this process's cells are derived from.
func newSecret() []byte {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return b[:]
}

// token is what the cell of that name shows to be let out through its ports. It is the same from the cell's creation on,
// whoever's the cell becomes, and opens nothing before that or afterwards.
func (s *Supervisor) token(cell string) string {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(cell))
	return "hc-" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// decideOverride refuses a caller's llm_override where nobody decides about it.
func (s *Supervisor) decideOverride(c *call) *a2e.Error {
	if c.override == nil || s.cfg.Models {
		return nil
	}
	return a2e.Errorf(a2e.Unauthorized, "llm_override: no model provider is configured, so provider %q is not approved",
		clip(c.override.ProviderName, 80))
}

// ownOverride copies an override with its credentials, so that a later change of the request is not seen.
func ownOverride(c *a2e.LLMConfig) *a2e.LLMConfig {
	if c == nil {
		return nil
	}
	own := *c
	own.ProviderConfig, own.ProviderCredentials = maps.Clone(c.ProviderConfig), maps.Clone(c.ProviderCredentials)
	return &own
}

// explain says in a log event what of a skill's wishes was cut: one that misses something would have to guess.
func (p *plan) explain(say func(level, format string, args ...any)) {
	for _, cut := range p.policy.Clamps {
		if cut.Field == policies.FieldNetwork || cut.Field == policies.FieldInject {
			say("warn", "%s", cut)
		}
	}
}
