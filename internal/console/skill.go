package console

import (
	"errors"
	"html/template"
	"net/http"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

// What a skill's page tells of its calls.
const (
	recentCalls = 10
	numbersOver = 7 * 24 * time.Hour
)

// skillView is the page of one skill.
type skillView struct {
	*catalog.Detail
	Path         string
	Instructions template.HTML // see markdown.go
	Plain        string        // the instructions where they are too much to be drawn
	Rows         []fileRow
	Errors       int    // among its findings
	Try, Edit    string // addresses; "": not for who asks, or not for this skill
	CanEdit      bool

	Versions []catalog.Installed
	Current  string // digest of the current version
	Policy   *control.Explained

	Lost []string // parts that could not be had, and why

	ShowCalls bool
	Calls     []control.Call
	Numbers   *control.Tally
	AllCalls  string
}

// fileRow is a file of a skill in a list.
type fileRow struct {
	catalog.File
	Look, Save string // addresses; "": too large to be read here
}

func (v *visit) skill() error {
	name := v.r.PathValue("name")
	found, err := v.o.Reader.Skill(v.ctx(), v.caller(), catalog.Fold(name), v.owner())
	if errors.Is(err, &catalog.Error{Code: catalog.SkillNotFound}) && v.who.May(auth.Calls) {
		found, err = v.hosted(name, err)
	}
	if err != nil {
		return err
	}
	d := &skillView{Detail: found, Path: skillPath(found.Name, found.Principal)}
	d.Instructions, d.Plain = drawn(found.Body)
	for _, f := range found.Files {
		row := fileRow{File: f}
		if f.Bytes <= catalog.MaxRead {
			row.Look = skillFilePath(found, f.Path)
			row.Save = withParam(row.Look, "download", "1")
		}
		d.Rows = append(d.Rows, row)
	}
	for _, f := range found.Warnings {
		if f.Severity == "error" {
			d.Errors++
		}
	}
	for _, part := range []struct {
		name string
		add  func(*skillView) error
	}{{"whether it can be called", v.addWays}, {"its versions", v.addVersions}, {"what a call gets", v.addPolicy}, {"its calls", v.addCalls}} {
		if err := part.add(d); err != nil {
			d.Lost = append(d.Lost, part.name+": "+v.lost(err))
		}
	}
	return v.render("skill", found.Name, d)
}

// hosted finds a skill that this process serves itself, which is in no folder. none is the error where there is none.
func (v *visit) hosted(name string, none error) (*catalog.Detail, error) {
	entry, err := v.callable(name, 0)
	switch {
	case errors.As(err, new(*trouble)), err == nil && !entry.Hosted:
		return nil, none
	case err != nil:
		return nil, err
	}
	def := &entry.Definition
	d := &catalog.Detail{Summary: catalog.Summary{
		Name: def.Name, Slug: def.Name, Description: def.Description, Source: "served by hotcell itself", Version: def.Version, Status: def.Status,
	}}
	if def.Instructions != nil {
		d.Body = *def.Instructions
	}
	return d, nil
}

// addWays adds what can be done with the skill.
func (v *visit) addWays(d *skillView) error {
	if v.o.Custom != nil && d.Principal != 0 {
		d.Edit, d.CanEdit = customPath(d.Name, d.Principal), v.mayWrite()
	}
	if !v.who.May(auth.Calls) || v.o.Handler == nil {
		return nil
	}
	switch _, err := v.callable(d.Name, d.Principal); {
	case err == nil:
		d.Try = skillPath(d.Name, d.Principal, "try")
	case !errors.As(err, new(*trouble)):
		return err
	}
	return nil
}

// callable finds a skill among those that who asks may call. It fails with a [*trouble] where a call of this name would get
// nothing, or somebody else's skill.
func (v *visit) callable(name string, principal int64) (*catalog.Entry, error) {
	who := v.caller()
	all, err := v.o.Reader.Callable(v.ctx(), who)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Definition.Name != name {
			continue
		}
		if first, err := v.o.Reader.Skill(v.ctx(), who, name, 0); principal != 0 && err == nil && first.Principal != principal {
			return nil, &trouble{status: http.StatusConflict, title: "Another skill comes first", message: "A call of " + name +
				" gets the skill of this name that is your own, or that of another group. Rename one of the two to call this one."}
		}
		return &all[i], nil
	}
	return nil, &trouble{status: http.StatusNotFound, title: "It can't be called", message: "No skill of the name " + name +
		" can be called: it may be blocked or archived (its page says why), somebody else's, or not allowed for this agent."}
}

// addVersions adds what is kept of a skill that was uploaded.
func (v *visit) addVersions(d *skillView) error {
	if v.o.Installer == nil || !v.who.May(auth.Admin) || d.Principal != 0 {
		return nil
	}
	all, err := v.o.Installer.Versions(v.ctx(), d.Name)
	if errors.Is(err, &catalog.Error{Code: catalog.SkillNotFound}) {
		return nil
	}
	d.Versions = all
	for _, one := range all {
		if one.Current {
			d.Current = one.Digest
		}
	}
	return err
}

// addPolicy adds what a call of a shipped skill would get.
func (v *visit) addPolicy(d *skillView) (err error) {
	if v.o.Explain == nil || !v.who.May(auth.Admin) || d.Principal != 0 {
		return nil
	}
	if d.Policy, err = v.o.Explain.Explain(v.ctx(), d.Name); errors.Is(err, control.ErrNoSkill) {
		d.Policy, err = nil, nil
	}
	return err
}

// addCalls adds the last calls of the skill that who asks may see, and their numbers.
func (v *visit) addCalls(d *skillView) error {
	if d.ShowCalls = v.who.May(auth.Calls); !d.ShowCalls {
		return nil
	}
	d.AllCalls = Base + "/calls?skill=" + template.URLQueryEscaper(d.Name)
	found, err := v.o.Book.Search(v.ctx(), v.whose(), control.CallQuery{Skill: d.Name, Limit: recentCalls})
	if err != nil {
		return err
	}
	d.Calls = found.Calls
	if len(d.Calls) == 0 {
		return nil
	}
	stats, err := v.stats(v.ctx(), lately(numbersOver))
	if err != nil {
		return err
	}
	for i := range stats.Skills {
		if stats.Skills[i].Skill == d.Name {
			d.Numbers = &stats.Skills[i].Tally
		}
	}
	return nil
}

// rollBack makes another version of an uploaded skill the current one.
func (v *visit) rollBack() error {
	name, version := v.r.PathValue("name"), v.form("version")
	if version == "" || len(version) > 40 {
		return wrong("version: expected one of the versions that the skill's page lists.")
	}
	if _, err := v.o.Installer.Rollback(v.ctx(), name, version, clip(v.form("match"), 100)); err != nil {
		return err
	}
	return v.done(skillPath(name, 0), "rolled-back")
}
