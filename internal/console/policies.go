package console

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

func (c *Console) policyPages() []page {
	if c.o.Explain == nil {
		return nil
	}
	return []page{{pattern: "GET " + Base + "/policies", scope: auth.Admin, serve: (*visit).policies}}
}

// policiesView is what a call of a skill would get.
type policiesView struct {
	Skill  string   // that was asked for
	Names  []string // of shipped skills
	Found  *control.Explained
	Absent bool // there is no such skill
}

func (v *visit) policies() error {
	view := policiesView{Skill: v.query("skill", 200)}
	var err error
	if view.Names, err = v.shippedNames(v.ctx()); err != nil {
		return err
	}
	if view.Skill == "" {
		return v.render("policies", "Policies", view)
	}
	view.Found, err = v.o.Explain.Explain(v.ctx(), view.Skill)
	if view.Absent = errors.Is(err, control.ErrNoSkill); view.Absent {
		return v.renderAs(404, "policies", "Policies", view)
	}
	if err != nil {
		return err
	}
	return v.render("policies", "Policy of "+view.Found.Skill, view)
}

// shippedNames are the names of the skills that everybody sees.
func (v *visit) shippedNames(ctx context.Context) ([]string, error) {
	if v.o.Reader == nil {
		return nil, nil
	}
	all, err := v.o.Reader.Skills(ctx, v.caller(), 0)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range all {
		if s.Principal == 0 {
			names = append(names, cmp.Or(s.Name, s.Slug))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// fieldWords are the fields of policies in plain words.
var fieldWords = map[string]string{
	"limits.memory": "Memory", "limits.cpu": "Processor", "limits.pids": "Processes", "limits.files": "Open files",
	"limits.workspace": "Room to write in", "limits.out": "Room for artifacts", "limits.output": "Text it may print",
	"timeout": "Time", "network": "Hosts it may reach", "llm": "Models", "llm.inject": "How it gets the model's key", "secrets": "Secrets",
	"runtime": "Container runtime", "writes": "Changes things outside",
}

// fieldText is a field of a policy in plain words, "" where nobody has any.
func fieldText(field string) string { return fieldWords[field] }

// partyText says who decided something.
func partyText(party string) string {
	switch party {
	case "host":
		return "hotcell, which allows no more"
	case "default":
		return "hotcell, as nobody said"
	case "operator":
		return "the operator"
	case "skill":
		return "the skill"
	case "call":
		return "the call"
	case "limits.memory":
		return "the memory, which has room for no more"
	}
	return party
}
