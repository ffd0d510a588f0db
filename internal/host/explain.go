package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

// Explanation is what a call of a skill would get, who decided it, and what was cut.
type Explanation struct {
	Skill     *skills.Skill
	Image     string
	Effective policies.Effective
}

// Explain works out what a call of a skill would get. A blocked skill gets nothing: of what it asks for, as much is said as can
// be worked out.
func Explain(cfg *config.Config, skill *skills.Skill, call policies.Policy) (Explanation, error) {
	effective, err := policies.Narrow(cfg.OperatorPolicy(), skill.Policy, call)
	if err != nil && skill.Status != skills.Blocked {
		return Explanation{}, err
	}
	return Explanation{skill, cmp.Or(skill.Run.Image, images.Default(cfg.Images.Defaults, skill.Run.Kind)), effective}, nil
}

// Granted is what a call of a skill would get of what the configuration has, or why it would be refused: nothing is asked over
// a network, and no value is shown.
type Granted struct {
	Model   string   `json:"model,omitempty"`   // "small of openai"
	Budget  string   `json:"budget,omitempty"`  // what one call may use of it
	Secrets string   `json:"secrets,omitempty"` // names
	Tools   []string `json:"tools,omitempty"`   // as declared; no server is asked
	NoTools string   `json:"tools_refused,omitempty"`
}

// Granted asks the services that a call would ask, but for those that would ask others. The log is told what callers are not.
func (e Explanation) Granted(cfg *config.Config, log *slog.Logger) Granted {
	g := Granted{Tools: e.Skill.ToolNames, NoTools: toolsRefused(cfg, log, e.Skill)}
	models, err := NewBroker(cfg, audit.Nobody, log)
	if err != nil {
		g.Model = "refused: " + plainRefusal(err)
		return g
	}
	defer models.Close()
	ask := service.Ask{Skill: e.Skill, Policy: e.Effective}
	l, why := leased(models, ask)
	switch {
	case why != "":
		g.Model = why
	case l.Model != nil:
		g.Model = cmp.Or(l.Model.Model, "a model of the skill's choice") + " of " + l.Model.Provider
		g.Budget = budget(cfg.LLM.Providers, l.Model.Provider, e.Skill, e.Effective)
	}
	if len(e.Effective.Secrets) > 0 {
		if _, why = leased(NewSecrets(cfg, log), ask); why == "" {
			why = strings.Join(e.Effective.Secrets, " ")
		}
		g.Secrets = why
	}
	return g
}

// toolsRefused says why the configuration keeps a skill from its tools, "" where it doesn't.
func toolsRefused(cfg *config.Config, log *slog.Logger, skill *skills.Skill) string {
	box := Toolbox(cfg, log)
	defer box.Close()
	if err := box.Permits(skill); err != nil {
		return "refused: " + plainRefusal(err)
	}
	return ""
}

// leased is what a service would hand in, or why it refuses.
func leased(s service.Service, ask service.Ask) (l wall.Lease, why string) {
	g, err := s.Grant(ask)
	if err != nil {
		return l, "refused: " + plainRefusal(err)
	}
	if g != nil {
		g.Lease(&l)
		g.Revoke()
	}
	return l, ""
}

// plainRefusal is a refusal in one line. Who shows it takes from it what the place where it is shown can't have.
func plainRefusal(err error) string {
	message := err.Error()
	var e *a2e.Error
	if errors.As(err, &e) {
		message = e.Message
	}
	return strings.Join(strings.Fields(message), " ")
}

// budget says what one call may use of a provider. Where the skill has the credential itself, nothing holds it to that.
func budget(providers []llm.Provider, name string, skill *skills.Skill, effective policies.Effective) string {
	i := slices.IndexFunc(providers, func(p llm.Provider) bool { return p.Name == name })
	if i < 0 {
		return ""
	}
	if effective.LLM != nil && effective.LLM.Inject == policies.InjectFile {
		return "none: the skill has the credential itself"
	}
	limits := providers[i].Complete().Limits
	if n := skill.MaxTurns; n > 0 {
		limits.Requests = min(limits.Requests, n)
	}
	text := fmt.Sprintf("a call: %d requests, %d tokens, %s", limits.Requests, limits.Tokens, SizeText(limits.Bytes))
	if limits.Cost > 0 {
		text += ", cost " + limits.Cost.String()
	}
	return text + fmt.Sprintf("; %d at once", limits.Concurrency)
}

// SizeText is a number of bytes for people: "512 B", "64 MiB".
func SizeText(n int64) string {
	if n < 1<<10 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, unit := float64(n)/(1<<10), "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if f < 1<<10 {
			break
		}
		f, unit = f/(1<<10), next
	}
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") + " " + unit
}

// explainer explains the policies of the skills that a library has.
type explainer struct {
	cfg    *config.Config
	skills skills.Catalog
	log    *slog.Logger
}

// Explain implements [control.Explainer].
func (x explainer) Explain(_ context.Context, name string) (*control.Explained, error) {
	skill, _ := x.skills.Find(name)
	if skill == nil {
		return nil, control.ErrNoSkill
	}
	e, err := Explain(x.cfg, skill, policies.Policy{})
	if err != nil {
		return nil, &control.Fault{Message: "the policy of this skill can't be worked out: " + plainRefusal(err)}
	}
	g := e.Granted(x.cfg, x.log)
	out := &control.Explained{
		Skill: skill.Name, Status: string(skill.Status), Why: skill.BlockedWhy, Image: e.Image,
		Model: g.Model, Budget: g.Budget, Secrets: g.Secrets, Tools: g.Tools, NoTools: g.NoTools,
		Choices: []control.Choice{}, Clamps: []control.Clamp{},
	}
	for _, c := range e.Effective.Choices {
		out.Choices = append(out.Choices, control.Choice{Field: c.Field, Value: c.Value, From: string(c.From)})
	}
	for _, c := range e.Effective.Clamps {
		out.Clamps = append(out.Clamps, control.Clamp{Field: c.Field, By: string(c.By), Asker: string(c.Asker), Asked: c.Asked, Granted: c.Granted})
	}
	return out, nil
}
