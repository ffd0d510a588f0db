package console

import (
	"errors"
	"net/http"

	"github.com/hotcell/hotcell/internal/catalog"
)

// editView is the editor.
type editView struct {
	*draftForm
	New       bool
	Owner     catalog.Principal
	Owners    []catalog.Principal // that may be chosen
	Path      string              // where the form goes
	Back      string
	Verdict   *verdictView
	Conflict  bool
	Changes   []change // what saving would change, where somebody else saved meanwhile
	Gone      bool     // the skill is there no more
	LastBy    *catalog.Opened
	Most      int // sidecar files
	MostText  int // bytes
	MostAll   int
	MostWords int // characters of a description
}

// verdictView is what hotcell says of a draft.
type verdictView struct {
	OK       bool
	Message  string
	Field    string // that the message is about
	Findings []catalog.Finding
	Hidden   bool // it has characters that can't be seen
	Bytes    int
	Most     int
}

// editor makes the page around a form.
func (v *visit) editor(f *draftForm, own catalog.Principal, name string) *editView {
	d := &editView{
		draftForm: f, New: name == "", Owner: own, Most: catalog.MaxSidecars, MostText: catalog.MaxRead, MostAll: catalog.MaxCustomBytes,
		MostWords: catalog.MaxDescription,
	}
	if d.New {
		d.Path, d.Back = withOwner(at("custom", "-", "new"), own.ID), withOwner(Base+"/custom", own.ID)
	} else {
		d.Path, d.Back = customPath(name, own.ID, "edit"), customPath(name, own.ID)
	}
	return d
}

// show shows the editor, with room for one more file.
func (d *editView) show(v *visit, status int) error {
	title := "Edit " + d.Name
	if d.New {
		title = "Write a skill"
	}
	return v.renderAs(status, "edit", title, d)
}

// Says reports whether the verdict is about a field.
func (d *editView) Says(field string) bool { return d.Verdict != nil && d.Verdict.Field == field }

func (d *editView) more() {
	if len(d.Files) < catalog.MaxSidecars {
		d.Files = append(d.Files, &draftFile{N: len(d.Files), Focus: true})
	}
}

// sample is what a new skill begins with.
const sample = "# What to do\n\n1. Say what the agent should do first.\n2. Then what it should do next.\n\n## When it is done\n\nSay how the agent can tell.\n"

func (v *visit) newCustom() error {
	all, own, err := v.owners()
	if err != nil {
		return err
	}
	d := v.editor(&draftForm{Body: sample}, own, "")
	d.Owners = writable(all)
	return d.show(v, http.StatusOK)
}

func writable(all []catalog.Principal) (out []catalog.Principal) {
	for _, p := range all {
		if p.Write {
			out = append(out, p)
		}
	}
	return out
}

func (v *visit) saveNew() error {
	all, own, err := v.owners()
	if err != nil {
		return err
	}
	d := v.editor(v.draftForm(), own, "")
	d.Owners = writable(all)
	draft, err := d.draft(nil)
	switch v.form("action") {
	case "add":
		d.more()
		return d.show(v, http.StatusOK)
	case "check":
		d.Verdict = v.verdict(d.draftForm, nil, own, "")
		return d.show(v, http.StatusOK)
	}
	if err == nil {
		var made *catalog.CustomSkill
		if made, err = v.o.Custom.Create(v.ctx(), v.caller(), own.ID, draft); err == nil {
			return v.done(customPath(made.Name, own.ID), "made")
		}
	}
	return d.refuse(v, err)
}

// refuse shows the editor with all that was typed, and why it was not saved.
func (d *editView) refuse(v *visit, err error) error {
	verdict, status := v.judged(err, d.draftForm)
	d.Verdict = verdict
	return d.show(v, status)
}

func (v *visit) editCustom() error {
	s, own, err := v.opened()
	if err != nil {
		return err
	}
	if !own.Write {
		return v.done(customPath(s.Name, own.ID), "")
	}
	d := v.editor(formOf(s), own, s.Name)
	d.LastBy = s
	return d.show(v, http.StatusOK)
}

func (v *visit) saveCustom() error {
	_, own, err := v.owners()
	if err != nil {
		return err
	}
	name := v.r.PathValue("name")
	d := v.editor(v.draftForm(), own, name)
	d.Name = name
	now, err := v.o.Custom.Open(v.ctx(), v.caller(), own.ID, name)
	if err != nil {
		d.Gone = errors.Is(err, &catalog.Error{Code: catalog.SkillNotFound})
		return d.refuse(v, err)
	}
	d.LastBy = now
	draft, err := d.draft(&now.Content)
	switch v.form("action") {
	case "add":
		d.more()
		return d.show(v, http.StatusOK)
	case "check":
		d.Verdict = v.verdict(d.draftForm, now, own, name)
		return d.show(v, http.StatusOK)
	}
	if err == nil {
		draft.Name = nil
		_, err = v.o.Custom.Update(v.ctx(), v.caller(), own.ID, name, v.revision(), draft)
	}
	switch {
	case err == nil:
		return v.done(customPath(name, own.ID), "saved")
	case errors.Is(err, &catalog.Error{Code: catalog.Conflict}):
		return d.conflict(v, draft)
	}
	return d.refuse(v, err)
}

// conflict shows what somebody else saved meanwhile beside what was typed. Saving once more replaces theirs.
func (d *editView) conflict(v *visit, draft catalog.Draft) error {
	now, err := v.o.Custom.Open(v.ctx(), v.caller(), d.Owner.ID, d.Name)
	if err != nil {
		return d.refuse(v, err)
	}
	d.Conflict, d.LastBy, d.Changes = true, now, changes(&now.Content, content(draft, &now.Content))
	d.Revision = formOf(now).Revision
	return d.show(v, http.StatusPreconditionFailed)
}

// checkDraft says what hotcell would say, while somebody types.
func (v *visit) checkDraft() error {
	_, own, err := v.owners()
	if err != nil {
		return err
	}
	var now *catalog.Opened
	name := v.form("existing")
	if name != "" {
		if now, err = v.o.Custom.Open(v.ctx(), v.caller(), own.ID, name); err != nil {
			return err
		}
	}
	return v.part("edit", "verdict", v.verdict(v.draftForm(), now, own, name))
}

// verdict says what would become of a draft.
func (v *visit) verdict(f *draftForm, now *catalog.Opened, own catalog.Principal, name string) *verdictView {
	var c *catalog.Content
	if now != nil {
		c = &now.Content
	}
	draft, err := f.draft(c)
	if name != "" {
		draft.Name = nil
	}
	var warnings []catalog.Finding
	if err == nil {
		warnings, err = v.o.Custom.Check(v.ctx(), v.caller(), own.ID, name, draft)
	}
	if err != nil {
		d, _ := v.judged(err, f)
		return d
	}
	d := f.measured()
	d.OK, d.Findings = true, warnings
	return d
}

// measured is a verdict that tells sizes alone.
func (f *draftForm) measured() *verdictView {
	d := &verdictView{Bytes: len(f.Body) + len(f.Name) + len(f.Description), Most: catalog.MaxCustomBytes}
	text := f.Name + f.Description + f.License + f.Compatibility + f.Tools + f.Metadata + f.Body
	for _, one := range f.Files {
		if !one.Removed {
			d.Bytes += len(one.Content)
			text += one.Path + one.Content
		}
	}
	d.Hidden = plainText(text) != text
	return d
}

// judged puts into words why a draft is refused.
func (v *visit) judged(err error, f *draftForm) (*verdictView, int) {
	d := f.measured()
	if fault := new(formFault); errors.As(err, &fault) {
		d.Message, d.Field = sentence(err), fault.field
		return d, http.StatusUnprocessableEntity
	}
	t := v.troubleOf(err)
	d.Message, d.Findings = t.message, t.findings
	if refused := new(catalog.Error); errors.As(err, &refused) {
		d.Field = fieldAt(refused.Code)
	}
	return d, t.status
}

// formFault is what is wrong with a form before anybody else looks at it.
type formFault struct{ field, message string }

func (f *formFault) Error() string { return f.message }

// fieldAt is the field that an error is about, "" where it is none alone.
func fieldAt(code catalog.Code) string {
	switch code {
	case catalog.NameTaken, catalog.NameReserved:
		return "name"
	case catalog.DescriptionLong:
		return "description"
	case catalog.TooManyFiles:
		return "files"
	}
	return ""
}
