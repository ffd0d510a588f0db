package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/catalog"
)

// allowedForm is a list of skills that an agent may read, or those of a principal that have no list of their own.
type allowedForm struct {
	Action    string
	Revision  int64
	Locked    string
	Source    string // agent, principal or default
	Set       bool   // there is a list, if an empty one
	Choices   []skillChoice
	On        int
	Principal int64
	Owner     string // whose default the agent may inherit
	Defaults  bool   // the form is that default
}

// skillChoice is a skill that may be on the list.
type skillChoice struct {
	Slug, Description, Source string
	On, Unknown               bool
}

// allowedOf makes the form of a list: what is on it first, whether it is known or not, and then what else there is.
func allowedOf(settings *catalog.Override, known []catalog.Summary) allowedForm {
	f := allowedForm{Source: settings.Source, Set: settings.Allowed != nil}
	bySlug := map[string]catalog.Summary{}
	for _, s := range known {
		if _, taken := bySlug[catalog.Fold(s.Slug)]; !taken {
			bySlug[catalog.Fold(s.Slug)] = s
		}
	}
	for _, slug := range slugsOf(settings.Allowed) {
		s, there := bySlug[slug]
		f.Choices = append(f.Choices, skillChoice{Slug: slug, Description: s.Description, Source: s.Source, On: true, Unknown: !there && known != nil})
		delete(bySlug, slug)
	}
	f.On = len(f.Choices)
	for _, s := range known {
		if _, left := bySlug[catalog.Fold(s.Slug)]; left {
			f.Choices = append(f.Choices, skillChoice{Slug: catalog.Fold(s.Slug), Description: s.Description, Source: s.Source})
			delete(bySlug, catalog.Fold(s.Slug))
		}
	}
	return f
}

// wantedList is the list that a form has; nil: none, so that the default holds.
func (v *visit) wantedList() (*[]string, error) {
	switch v.form("do") {
	case "inherit":
		return nil, nil
	case "save":
	default:
		return nil, wrong("do: expected save or inherit, as the page's form has it")
	}
	list := slices.Clone(v.r.PostForm["skill"])
	list = append(list, strings.FieldsFunc(v.form("more"), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })...)
	allowed, err := catalog.CheckAllowed(list)
	if err != nil {
		return nil, wrong("The list of skills: " + err.Error() + ". Use the names as the list of skills has them.")
	}
	return allowed, nil
}

func (v *visit) allowSkills() error {
	id, err := v.agentID()
	if err != nil {
		return err
	}
	match, err := v.match()
	if err != nil {
		return err
	}
	list, err := v.wantedList()
	if err != nil {
		return err
	}
	_, err = v.o.Agents.SetOverride(v.ctx(), v.caller(), id, 0, catalog.SkillToolName, match, list)
	if isConflict(err) {
		return v.agentAgain(id)
	}
	if err != nil {
		return err
	}
	return v.changed(id, "The list of skills is saved.")
}

// defaultsView is what agents of a principal may read that have no list of their own.
type defaultsView struct {
	Owner   string
	Allowed allowedForm
	Fault   string
}

func (v *visit) defaults() error { return v.defaultsAs(http.StatusOK, "") }

// defaultsAs shows the page. The list comes first, so that who may not see the principal learns nothing else.
func (v *visit) defaultsAs(status int, fault string) error {
	id := v.number("principal")
	if id == 0 {
		return noPrincipal()
	}
	settings, err := v.o.Agents.Override(v.ctx(), v.caller(), 0, id, catalog.SkillToolName)
	if err != nil {
		return err
	}
	owners, err := v.principals()
	if err != nil {
		return err
	}
	known, err := v.skillsOf(id)
	if err != nil {
		return err
	}
	view := defaultsView{Owner: ownerName(owners, id), Allowed: allowedOf(settings, known), Fault: fault}
	view.Allowed.Action, view.Allowed.Revision = defaultsPath(id), settings.Revision
	view.Allowed.Locked, view.Allowed.Defaults, view.Allowed.Principal = v.cannotWrite(owners, id), true, id
	return v.renderAs(status, "defaults", "Default skills of "+view.Owner, view)
}

func noPrincipal() error {
	return &trouble{status: http.StatusNotFound, title: "No such principal", message: "No principal has this number, or it is somebody else's."}
}

func defaultsPath(id int64) string {
	return at("agents", "principal", strconv.FormatInt(id, 10), "defaults")
}

func (v *visit) setDefaults() error {
	id := v.number("principal")
	if id == 0 {
		return noPrincipal()
	}
	match, err := v.match()
	if err != nil {
		return err
	}
	list, err := v.wantedList()
	if err != nil {
		return err
	}
	_, err = v.o.Agents.SetOverride(v.ctx(), v.caller(), 0, id, catalog.SkillToolName, match, list)
	if isConflict(err) && !v.htmx() {
		return v.defaultsAs(http.StatusPreconditionFailed, "Your change was not made: somebody changed this list after you had opened the page. Below is how it is now. Look, and try again.")
	}
	if err != nil {
		return err
	}
	return v.done(defaultsPath(id), "agent-saved")
}
