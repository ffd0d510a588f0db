package executor

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/wall"
)

// firstPort is the number of a cell's first loopback port; the others follow, in the order of their names.
const firstPort = 41001

// grants are what one call may use outside of its cell, from its plan to its end.
type grants struct {
	all   []service.Grant
	ports []wall.Port // by name
	owner map[string]service.Grant
	tools service.Tooler // nil: none

	revoking sync.Once
}

// grant asks every service what it grants. The first refusal is the call's answer, and what was granted before it is taken
// back.
func (s *Supervisor) grant(ctx context.Context, c *call, p *plan) (*grants, *a2e.Error) {
	g := &grants{owner: map[string]service.Grant{}}
	ask := service.Ask{
		Call: c.id, Who: c.who, Skill: p.skill, Policy: p.policy, Override: c.override, Chain: service.Chain(ctx),
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
	return g, nil
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

// env is the environment of a cell with that token; nil for one that is granted nothing.
func (g *grants) env(token string) []string {
	if len(g.all) == 0 {
		return nil
	}
	env := []string{wall.EnvToken + "=" + token}
	for _, one := range g.all {
		env = append(env, one.Env(g.at, token)...)
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

// lease is the line that makes a cell this call's; nil where it would say nothing. An agent's engine learns from it what
// its loop obeys.
func (g *grants) lease(p *plan) ([]byte, map[string]string, *a2e.Error) {
	agent := p.skill.Run.Kind == kindAgent
	if len(g.all) == 0 && !agent {
		return nil, nil, nil
	}
	l := wall.Lease{Type: wall.TypeLease}
	if agent {
		l.MaxTurns, l.OutputSchema = p.skill.MaxTurns, p.skill.OutputSchema
	}
	for _, one := range g.all {
		one.Lease(&l)
	}
	line, err := json.Marshal(l)
	switch {
	case err != nil:
		return nil, nil, a2e.Errorf(a2e.RuntimeError, "the lease of the call has no JSON form").Because(a2e.ReasonInternal)
	case len(line) > wall.MaxLine:
		return nil, nil, a2e.Errorf(a2e.RuntimeError, "secrets, tools and output schema of the skill take %d bytes, a cell takes %d", len(line), wall.MaxLine).
			Because(a2e.ReasonUnsupported)
	}
	return line, l.Secrets, nil
}

// kindAgent is the Run.Kind of skills whose instructions are the program.
const kindAgent = "agent"

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

// describe says in a log event what of a skill's wishes was cut: a skill that misses something would otherwise have to guess.
func (p *plan) describe(say func(level, format string, args ...any)) {
	for _, cut := range p.policy.Clamps {
		if field := cmp.Or(cut.Field); field == "network" || field == "llm.inject" {
			say("warn", "%s", fmt.Sprint(cut))
		}
	}
}
