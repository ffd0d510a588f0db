package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
		return v.renderAs(http.StatusNotFound, "policies", "Policies", view)
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

// amounts are values as policies write them: a number with a unit behind it, or none.
var amounts = regexp.MustCompile(`^([0-9.]+)([KMGT]i|m|s)?$`)

// sizeValue is a value with a unit of bytes, such as 256Mi, for people: 256 MiB. All others it leaves alone.
func sizeValue(value string) string {
	if m := amounts.FindStringSubmatch(value); m != nil && strings.HasSuffix(m[2], "i") {
		return m[1] + " " + m[2] + "B"
	}
	return value
}

// valueText is a value of a field with its unit, for people.
func valueText(field, value string) string {
	m := amounts.FindStringSubmatch(value)
	switch {
	case value == "true":
		return "yes"
	case value == "false":
		return "no"
	case m == nil:
		return value
	case field == "limits.cpu" && m[2] == "m":
		thousandths, _ := strconv.ParseFloat(m[1], 64)
		return strconv.FormatFloat(thousandths/1000, 'f', -1, 64) + " CPU"
	case field == "limits.cpu":
		return m[1] + " CPU"
	case m[2] == "s":
		return m[1] + " s"
	case strings.HasSuffix(m[2], "i"):
		return sizeValue(value)
	case field == "limits.pids":
		return m[1] + " at once"
	case field == "limits.files":
		return m[1] + " in a process"
	}
	return value
}

// partyText says who decided something.
func partyText(party string) string {
	switch party {
	case "host":
		return "hotcell, which allows no more"
	case "default":
		return "hotcell's default"
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
