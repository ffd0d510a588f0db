package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

// granted is what a call of a skill would get of what the configuration has, or why it would be refused: nothing is asked over
// a network, and no value is shown.
type granted struct {
	Model   string   `json:"model,omitempty"`   // "small of openai"
	Budget  string   `json:"budget,omitempty"`  // what one call may use of it
	Secrets string   `json:"secrets,omitempty"` // names
	Tools   []string `json:"tools,omitempty"`   // as declared; no server is asked
	NoTools string   `json:"tools_refused,omitempty"`
}

// grants asks the services that a call would ask, but for those that would ask others. The log is told what callers are not.
func grants(cfg *config.Config, log *slog.Logger, skill *skills.Skill, effective policies.Effective) granted {
	g := granted{Tools: skill.ToolNames, NoTools: toolsRefused(cfg, log, skill)}
	models, err := host.NewBroker(cfg, audit.Nobody, log)
	if err != nil {
		g.Model = "refused: " + plainRefusal(err)
		return g
	}
	defer models.Close()
	ask := service.Ask{Skill: skill, Policy: effective}
	l, why := leased(models, ask)
	switch {
	case why != "":
		g.Model = why
	case l.Model != nil:
		g.Model = cmp.Or(l.Model.Model, "a model of the skill's choice") + " of " + l.Model.Provider
		g.Budget = budget(cfg.LLM.Providers, l.Model.Provider, skill, effective)
	}
	if len(effective.Secrets) > 0 {
		if _, why = leased(host.NewSecrets(cfg, log), ask); why == "" {
			why = strings.Join(effective.Secrets, " ")
		}
		g.Secrets = why
	}
	return g
}

// toolsRefused says why the configuration keeps a skill from its tools, "" where it doesn't.
func toolsRefused(cfg *config.Config, log *slog.Logger, skill *skills.Skill) string {
	box := host.Toolbox(cfg, log)
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

func plainRefusal(err error) string {
	var e *a2e.Error
	if errors.As(err, &e) {
		return oneLine(e.Message, 300)
	}
	return oneLine(err.Error(), 300)
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
	text := fmt.Sprintf("a call: %d requests, %d tokens, %s", limits.Requests, limits.Tokens, size(limits.Bytes))
	if limits.Cost > 0 {
		text += ", cost " + limits.Cost.String()
	}
	return text + fmt.Sprintf("; %d at once", limits.Concurrency)
}
