package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/secrets"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

// granted is what a call of a skill would get of what the configuration has, or why it would be refused: nothing is asked over
// a network, and no value is shown.
type granted struct {
	Model   string `json:"model,omitempty"`   // "small of openai"
	Secrets string `json:"secrets,omitempty"` // names
}

// grants asks the services that a call would ask, but for those that would ask others.
func grants(cfg *config.Config, skill *skills.Skill, effective policies.Effective) granted {
	models, err := newBroker(cfg, audit.Nobody)
	if err != nil {
		return granted{Model: "refused: " + plainRefusal(err)}
	}
	defer models.Close()
	ask := service.Ask{Skill: skill, Policy: effective}
	var g granted
	l, why := leased(models, ask)
	switch {
	case why != "":
		g.Model = why
	case l.Model != nil:
		g.Model = cmp.Or(l.Model.Model, "a model of the skill's choice") + " of " + l.Model.Provider
	}
	if len(effective.Secrets) > 0 {
		if _, why = leased(secrets.New(secrets.Options{Refs: cfg.Secrets, Resolver: references(cfg)}), ask); why == "" {
			why = strings.Join(effective.Secrets, " ")
		}
		g.Secrets = why
	}
	return g
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
