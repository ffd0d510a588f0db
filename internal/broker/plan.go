package broker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/pattern"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

const kindAgent = "agent"

// plan is what a call gets.
type plan struct {
	to      *upstream
	only    string          // a name or a pattern that models must match beside the provider's; "": none
	model   string          // for requests that the skill leaves to us; "" none
	config  json.RawMessage // what may be said about the model inside of a cell
	inject  string
	key     func() (string, error) // "" where the provider needs none
	callers bool                   // the key is the caller's
}

// Grant implements [service.Service].
func (b *Broker) Grant(ask service.Ask) (service.Grant, error) {
	if err := b.approve(ask.Skill, ask.Override); err != nil {
		return nil, err
	}
	wish, err := wished(ask)
	if wish == nil || err != nil {
		return nil, err
	}
	p, err := b.plan(ask.Skill, wish, ask.Override)
	if err != nil {
		return nil, err
	}
	if ask.Skill.Run.Kind == kindAgent {
		if err := checkAgent(p); err != nil {
			return nil, err
		}
	}
	if p.inject == policies.InjectFile && p.to.Credential == "" && !p.callers {
		return nil, unsupported("provider %s has no credential that could be a file: remove llm.inject from skill.yaml", p.to.Name)
	}
	return newGrant(b, p, ask), nil
}

// wished is what the policy grants of what the skill asks for, nil for nothing. A skill that would get something else than
// it asks for is refused: it could not know.
func wished(ask service.Ask) (*policies.LLM, error) {
	wish := ask.Policy.LLM
	asked := ask.Skill.Policy.LLM
	switch {
	case asked == nil && wish == nil && ask.Skill.Run.Kind == kindAgent:
		return &policies.LLM{}, nil
	case asked != nil && wish == nil:
		return nil, unsupported("skill %s needs a model, which policy.llm.inject of the configuration permits no way to use; add broker there", ask.Skill.Name)
	case asked != nil && asked.Inject == policies.InjectFile && wish.Inject != policies.InjectFile:
		return nil, unsupported("skill %s wants a model's credential as a file (llm.inject: file), which the configuration does not permit; "+
			"add file to policy.llm.inject, or remove the key from skill.yaml", ask.Skill.Name)
	}
	return wish, nil
}

func unsupported(format string, args ...any) *a2e.Error {
	return a2e.Errorf(a2e.RuntimeError, format, args...).Because(a2e.ReasonUnsupported)
}

// plan decides which provider and which models.
func (b *Broker) plan(skill *skills.Skill, wish *policies.LLM, override *a2e.LLMConfig) (*plan, error) {
	if override != nil {
		return b.overridden(wish, override)
	}
	to, err := b.choose(skill, wish.Provider)
	if err != nil {
		return nil, err
	}
	p := &plan{to: to, inject: wish.Inject, key: b.operators(to)}
	return p, p.asSkill(wish.Model)
}

// asSkill restricts a plan to the skill's model.
func (p *plan) asSkill(model string) error {
	if model != "" && !strings.Contains(model, "*") && !p.to.Allows(model) {
		return unsupported("provider %s may not be asked for model %q: llm.providers allows %s", p.to.Name, clip(model), join(p.to.Models))
	}
	p.restrict(model)
	return nil
}

// restrict keeps a plan to the models that somebody named.
func (p *plan) restrict(model string) {
	p.only, p.model = model, model
	if model == "" || strings.Contains(model, "*") {
		p.model = p.to.Model
		if model != "" && !pattern.Match(model, p.model) {
			p.model = ""
		}
	}
}

// allows reports whether the call may use a model.
func (p *plan) allows(model string) bool {
	return p.to.Allows(model) && (p.only == "" || pattern.Match(p.only, model))
}

// choose finds a provider by its name, or the first that is available to the skill.
func (b *Broker) choose(skill *skills.Skill, name string) (*upstream, error) {
	if name != "" {
		u := b.named(name)
		if u == nil {
			return nil, unsupported("there is no model provider %q: llm.providers of the configuration has %s", clip(name), b.names())
		}
		if !skill.In(u.Skills) {
			return nil, unsupported("model provider %s is not for skill %s: llm.providers of the configuration says which skills it is for; "+
				"the operator can add %s to its skills there", u.Name, skill.Name, skill.Scoped())
		}
		if _, err := b.operators(u)(); err != nil {
			return nil, notAvailable(u, err)
		}
		return u, nil
	}
	var missing []string
	for _, u := range b.providers {
		if !skill.In(u.Skills) {
			missing = append(missing, fmt.Sprintf("%s: it is not for skill %s; the operator can add %s to the provider's skills in llm.providers", u.Name, skill.Name, skill.Scoped()))
			continue
		}
		_, err := b.operators(u)()
		if err == nil {
			return u, nil
		}
		missing = append(missing, fmt.Sprintf("%s: %s", u.Name, err))
	}
	if missing == nil {
		return nil, unsupported("the skill needs a model and no provider is configured: add one to llm.providers")
	}
	return nil, unsupported("the skill needs a model and no provider is available (%s)", strings.Join(missing, "; "))
}

func notAvailable(u *upstream, err error) *a2e.Error {
	return unsupported("model provider %s is not available: %s", u.Name, err)
}

func (b *Broker) named(name string) *upstream {
	i := slices.IndexFunc(b.providers, func(u *upstream) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return b.providers[i]
}

func (b *Broker) names() string {
	var list []string
	for _, u := range b.providers {
		list = append(list, u.Name)
	}
	return cmp.Or(strings.Join(list, ", "), "none")
}

// operators returns how the operator's credential is found, each time anew: it may change.
func (b *Broker) operators(u *upstream) func() (string, error) {
	return func() (string, error) {
		if u.Credential == "" {
			return "", nil
		}
		key, err := b.credentials.Resolve(u.Credential)
		if err != nil {
			return "", err
		}
		if !llm.IsKey(string(key)) {
			return "", fmt.Errorf("%s: expected a key: printable text without blanks, from %d to %d bytes", credentials.Kind(u.Credential), llm.MinKey, llm.MaxKey)
		}
		return string(key), nil
	}
}

// checkAgent refuses what the engine in the cell could not work with.
func checkAgent(p *plan) error {
	if p.inject == policies.InjectFile {
		return unsupported("an agent skill cannot take a credential as a file: it has no code that could read it; remove llm.inject")
	}
	if p.model == "" {
		return unsupported("nothing says which model to use: set llm.model in skill.yaml, or model of provider %s in llm.providers", p.to.Name)
	}
	return nil
}

// clip shortens what is quoted.
func clip(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "..."
	}
	return s
}
