package broker

import (
	"context"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/trace"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

// PortPrefix stands before a provider's name in the name of its port.
const PortPrefix = "llm."

// grant is one call's right to one provider.
type grant struct {
	broker *Broker
	call   string
	plan   *plan
	budget *budget
	slots  chan struct{} // requests at once, of all calls that are nested in one
	notes  notes

	life context.Context // ends with the call
	end  context.CancelFunc

	mu    sync.Mutex
	token string     // "": not active
	span  trace.Span // within which requests are made
}

var (
	_ service.Grant  = (*grant)(nil)
	_ service.Keeper = (*grant)(nil)
)

// shared is what a call and all that are nested in it have of a provider together: else a skill could multiply what an operator
// grants by skills that it uses.
type shared struct {
	budget *budget
	slots  chan struct{}
}

type sharedKey struct{ provider string }

func newShared(u *upstream) *shared {
	return &shared{&budget{limits: u.Limits, provider: u.Name}, make(chan struct{}, u.Limits.Concurrency)}
}

func newGrant(b *Broker, p *plan, ask service.Ask) *grant {
	limits := p.to.Limits
	if n := ask.Skill.MaxTurns; n > 0 {
		limits.Requests = min(limits.Requests, n)
	}
	all, _ := ask.Outer.Keep(sharedKey{p.to.Name}, func() any { return newShared(p.to) }).(*shared)
	g := &grant{
		broker: b, call: ask.Call, plan: p,
		budget: &budget{limits: limits, provider: p.to.Name, all: all.budget},
		slots:  all.slots,
	}
	g.life, g.end = context.WithCancel(context.Background())
	return g
}

// Ports implements [service.Grant]. A credential that is a file needs none.
func (g *grant) Ports() []string {
	if g.plan.inject == policies.InjectFile {
		return nil
	}
	return []string{PortPrefix + g.plan.to.Name}
}

// Env implements [service.Grant]: what makes the ordinary clients work.
func (g *grant) Env(at func(port string) string, token string) []string {
	if g.plan.inject == policies.InjectFile {
		return nil
	}
	base := "http://" + at(PortPrefix+g.plan.to.Name)
	env := []string{wall.EnvToken + "=" + token}
	if g.plan.to.Kind == llm.Anthropic {
		return append(env, "ANTHROPIC_BASE_URL="+base, "ANTHROPIC_API_KEY="+token)
	}
	return append(env, "OPENAI_BASE_URL="+base+"/v1", "OPENAI_API_KEY="+token)
}

// Lease implements [service.Grant].
func (g *grant) Lease(l *wall.Lease) {
	to := g.plan.to
	l.Model = &wall.Model{Provider: to.Name, Kind: string(to.Kind), Model: g.plan.model, Config: g.plan.config}
	if g.plan.inject != policies.InjectFile {
		return
	}
	key, err := g.plan.key()
	if err != nil {
		return // it was there a moment ago; the skill finds no file
	}
	if l.Secrets == nil {
		l.Secrets = map[string]string{}
	}
	l.Secrets[SecretName(&to.Provider)] = key
}

// Kept implements [service.Keeper]: the key as it is when the call begins.
func (g *grant) Kept() []string {
	key, err := g.plan.key()
	if err != nil || key == "" {
		return nil // each request says what is wrong with it
	}
	return []string{key}
}

// SecretName is the file's name of a provider's credential in a cell.
func SecretName(p *llm.Provider) string {
	switch p.Kind {
	case llm.OpenAI:
		return "OPENAI_API_KEY"
	case llm.Anthropic:
		return "ANTHROPIC_API_KEY"
	case llm.Compatible:
	}
	return strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_")) + "_API_KEY"
}

// Activate implements [service.Grant].
func (g *grant) Activate(ctx context.Context, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token != "" || token == "" || g.life.Err() != nil {
		return
	}
	g.token, g.span = token, trace.Of(ctx)
	context.AfterFunc(ctx, g.end)
}

// Revoke implements [service.Grant].
func (g *grant) Revoke() { g.end() }

// entitled checks that the call is under way and that this is its cell.
func (g *grant) entitled(h http.Header) *refusal {
	g.mu.Lock()
	token := g.token
	g.mu.Unlock()
	switch {
	case g.life.Err() != nil:
		return forbid("ended", "the call has ended, and with it the right to use a model")
	case token == "":
		return forbid("not_active", "the call has not begun: there is no right to use a model yet")
	case !shows(h.Values("Authorization"), "Bearer "+token) && !shows(h.Values("X-Api-Key"), token):
		return forbid("token", "this is not the token of this call: use the one of the environment (HOTCELL_TOKEN)")
	}
	return nil
}

func shows(values []string, want string) bool {
	return len(values) == 1 && subtle.ConstantTimeCompare([]byte(values[0]), []byte(want)) == 1
}

// wait takes one of the places for requests at once.
func (g *grant) wait(ctx context.Context) *refusal {
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-g.life.Done():
		return forbid("ended", "the call has ended, and with it the right to use a model")
	case <-ctx.Done():
		return forbid("ended", "the connection was closed")
	}
}

func (g *grant) leave() { <-g.slots }
