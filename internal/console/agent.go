package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/catalog"
)

// agentView is one agent: its tools with their switches, and the list of the skills that it may read.
type agentView struct {
	catalog.Agent
	Owner   string
	Locked  string // why nothing can be changed, "" where it can
	Fault   string // why a change was not made
	Said    string // what was done
	Tools   []toolCard
	Allowed allowedForm
}

// toolCard is a tool of an agent. While it is on, each skill that it recommends has a row.
type toolCard struct {
	ID, Name, Description string
	Writes, On            bool
	Locked                string // why the switch can't be used
	Missing               string // what has to be set before the tool is of use
	Skills                []toolSkill
	Idle                  bool // its skills can't be read: the skill tool is off
}

// toolSkill is a skill that a tool recommends, with its own switch.
type toolSkill struct {
	ID, Slug, Title string
	On              bool
	Locked          string
}

func (v *visit) agent() error {
	id, err := v.agentID()
	if err != nil {
		return err
	}
	view, err := v.agentView(id)
	if err != nil {
		return err
	}
	return v.render("agent", view.Name, view)
}

// agentAgain shows an agent as it is now, to who wanted to change another state of it.
func (v *visit) agentAgain(id int64) error {
	view, err := v.agentView(id)
	if err != nil {
		return err
	}
	view.Fault = "Your change was not made: somebody changed this agent after you had opened the page. Below is how it is now. Look, and try again."
	if v.htmx() {
		v.w.Header().Set("HX-Retarget", "#agent")
		v.w.Header().Set("HX-Reswap", "outerHTML")
		return v.partAs(http.StatusPreconditionFailed, "agent", "agentbody", view)
	}
	return v.renderAs(http.StatusPreconditionFailed, "agent", view.Name, view)
}

// changed shows what became of an agent: a part of its page to a script, else the page anew.
func (v *visit) changed(id int64, said string) error {
	if !v.htmx() {
		return v.done(agentPath(id), "agent-saved")
	}
	view, err := v.agentView(id)
	if err != nil {
		return err
	}
	view.Said = said
	return v.part("agent", "agentbody", view)
}

func (v *visit) agentView(id int64) (view agentView, err error) {
	found, err := v.o.Agents.Show(v.ctx(), v.caller(), id)
	if err != nil {
		return view, err
	}
	owners, err := v.principals()
	if err != nil {
		return view, err
	}
	tools, err := v.o.Agents.Tools(v.ctx(), v.caller())
	if err != nil {
		return view, err
	}
	settings, err := v.o.Agents.Override(v.ctx(), v.caller(), id, 0, catalog.SkillToolName)
	if errors.Is(err, &catalog.Error{Code: catalog.ToolNotFound}) {
		settings, err = &catalog.Override{}, nil // a host without the tool: the rows say so
	}
	if err != nil {
		return view, err
	}
	known, err := v.skillsOf(found.Principal)
	if err != nil {
		return view, err
	}
	view = agentView{Agent: *found, Owner: ownerName(owners, found.Principal), Locked: v.cannotWrite(owners, found.Principal)}
	view.Allowed = allowedOf(settings, known)
	view.Allowed.Action, view.Allowed.Revision, view.Allowed.Locked = agentPath(id)+"/allowed", found.Revision, view.Locked
	view.Allowed.Principal, view.Allowed.Owner = found.Principal, view.Owner
	view.Tools = cardsOf(found, tools, settings, known, view.Locked)
	return view, nil
}

// skillsOf are the skills that agents of a principal can be allowed; nil where no catalog is there.
func (v *visit) skillsOf(principal int64) ([]catalog.Summary, error) {
	if v.o.Reader == nil {
		return nil, nil
	}
	return v.o.Reader.Skills(v.ctx(), v.caller(), principal)
}

// cardsOf makes a card of each tool, in the order of the host.
func cardsOf(a *catalog.Agent, tools []catalog.ToolInfo, settings *catalog.Override, known []catalog.Summary, locked string) []toolCard {
	on := map[string]bool{}
	for _, t := range a.Tools {
		on[t.Tool] = t.Enabled
	}
	reader := slices.ContainsFunc(tools, func(t catalog.ToolInfo) bool { return t.Name == catalog.SkillToolName })
	var cards []toolCard
	for i, t := range tools {
		card := toolCard{ID: "tool-" + strconv.Itoa(i), Name: t.Name, Description: t.Description, Writes: t.Writes, On: on[t.Name], Locked: locked}
		delete(on, t.Name)
		if t.Name == catalog.SkillToolName && card.On && len(slugsOf(settings.Allowed)) == 0 {
			card.Missing = "The list of skills below is empty: this agent can read none."
		}
		if card.On {
			card.Skills = rowsOf(card.ID, t.Recommends, settings, known, reader, locked)
			card.Idle = len(card.Skills) > 0 && reader && !slices.ContainsFunc(a.Tools, func(t catalog.Toggle) bool { return t.Tool == catalog.SkillToolName && t.Enabled })
		}
		cards = append(cards, card)
	}
	for _, t := range a.Tools { // that are gone
		if on[t.Tool] {
			cards = append(cards, toolCard{ID: "tool-" + strconv.Itoa(len(cards)), Name: t.Tool, On: true, Locked: "This host has no such tool any more, so the switch does nothing."})
		}
	}
	return cards
}

// rowsOf are the rows of the skills that a tool recommends, in its order.
func rowsOf(card string, slugs []string, settings *catalog.Override, known []catalog.Summary, reader bool, locked string) []toolSkill {
	var rows []toolSkill
	for i, slug := range slugs {
		row := toolSkill{
			ID: card + "-skill-" + strconv.Itoa(i), Slug: slug, Title: titleOf(slug), Locked: locked,
			On: slices.Contains(slugsOf(settings.Allowed), catalog.Fold(slug)),
		}
		there := known == nil || slices.ContainsFunc(known, func(s catalog.Summary) bool { return catalog.Fold(s.Slug) == catalog.Fold(slug) })
		switch {
		case !reader:
			row.Locked = "Skill not installed: this host has no tool that reads skills."
		case !there && !row.On:
			row.Locked = "Skill not installed: nobody has put a skill of this name on this host."
		}
		rows = append(rows, row)
	}
	return rows
}

func slugsOf(list *[]string) []string {
	if list == nil {
		return nil
	}
	return *list
}

// titleOf is a slug as a title: media-library is Media Library.
func titleOf(slug string) string {
	words := strings.FieldsFunc(slug, func(r rune) bool { return r == '-' || r == '_' || unicode.IsSpace(r) })
	for i, w := range words {
		r, n := utf8.DecodeRuneInString(w)
		words[i] = string(unicode.ToTitle(r)) + w[n:]
	}
	return strings.Join(words, " ")
}

// flow is a change of an agent by one switch.
func (v *visit) flow(change func(id, match int64, on bool) (said string, err error)) error {
	id, err := v.agentID()
	if err != nil {
		return err
	}
	match, err := v.match()
	if err != nil {
		return err
	}
	on, err := strconv.ParseBool(v.form("on"))
	if err != nil {
		return wrong("on: expected true or false, as the page's form has it")
	}
	said, err := change(id, match, on)
	if isConflict(err) {
		return v.agentAgain(id)
	}
	if err != nil {
		return err
	}
	return v.changed(id, said)
}

func (v *visit) toggleTool() error {
	return v.flow(func(id, match int64, on bool) (string, error) {
		tool := v.form("tool")
		_, err := v.o.Agents.SetTool(v.ctx(), v.caller(), id, match, tool, on)
		return fmt.Sprintf("Tool %s is %s.", tool, onOff(on)), err
	})
}

func (v *visit) toggleSkill() error {
	return v.flow(func(id, match int64, on bool) (said string, err error) {
		slug := v.form("slug")
		if on {
			_, err = v.o.Agents.SkillOn(v.ctx(), v.caller(), id, match, slug)
		} else {
			_, err = v.o.Agents.SkillOff(v.ctx(), v.caller(), id, match, slug)
		}
		return fmt.Sprintf("Skill %s is %s.", titleOf(slug), onOff(on)), err
	})
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
