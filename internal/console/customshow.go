package console

import (
	"errors"
	"html/template"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/catalog"
)

// customView is the page of one custom skill.
type customView struct {
	*catalog.Opened
	Owner        catalog.Principal
	Path, Page   string // of its own, and of the skill in the catalogue
	Edit         string // addresses; "": not for who asks
	Changes      string
	Delete       string
	Errors       bool
	Rows         []fileRow
	Instructions template.HTML
	Plain        string
	Allowed      []catalog.AllowlistRow
}

// opened finds the skill that an address means, and whose it is.
func (v *visit) opened() (*catalog.Opened, catalog.Principal, error) {
	_, own, err := v.owners()
	if err != nil {
		return nil, own, err
	}
	s, err := v.o.Custom.Open(v.ctx(), v.caller(), own.ID, v.r.PathValue("name"))
	return s, own, err
}

func (v *visit) custom() error {
	s, own, err := v.opened()
	if err != nil {
		return err
	}
	d := &customView{Opened: s, Owner: own, Path: customPath(s.Name, own.ID), Page: skillPath(s.Name, own.ID), Errors: grave(s.Warnings)}
	if own.Write && v.mayWrite() {
		d.Edit, d.Delete = customPath(s.Name, own.ID, "edit"), customPath(s.Name, own.ID, "delete")
		if s.Previous != nil {
			d.Changes = customPath(s.Name, own.ID, "changes")
		}
	}
	d.Instructions, d.Plain = drawn(s.Body)
	for _, f := range s.Files {
		look := customPath(s.Name, own.ID, append([]string{"files"}, strings.Split(f.Path, "/")...)...)
		d.Rows = append(d.Rows, fileRow{File: f, Look: look, Save: withParam(look, "download", "1")})
	}
	if d.Allowed, err = v.o.Custom.Allowlist(v.ctx(), v.caller(), own.ID, s.Name); err != nil {
		return err
	}
	return v.render("custom", s.Name, d)
}

func (v *visit) customFile() error {
	_, own, err := v.owners()
	if err != nil {
		return err
	}
	name, file := v.r.PathValue("name"), v.r.PathValue("path")
	b, err := v.o.Custom.Read(v.ctx(), v.caller(), own.ID, name, file)
	if err != nil {
		return err
	}
	if v.query("download", 1) != "" {
		return v.attach(file[strings.LastIndex(file, "/")+1:], b)
	}
	link := customPath(name, own.ID, append([]string{"files"}, strings.Split(file, "/")...)...)
	d := skillFileView{
		Area: "Custom skills", Top: withOwner(Base+"/custom", own.ID), Skill: name, Back: customPath(name, own.ID), Name: file, Bytes: int64(len(b)),
		Download: withParam(link, "download", "1"),
	}
	d.fill(b)
	return v.render("skillfile", file+" of "+name, d)
}

// fill puts in what a file says, if that is text.
func (d *skillFileView) fill(b []byte) {
	if d.Binary = !utf8.Valid(b) || strings.ContainsRune(string(b), 0); !d.Binary {
		d.Text = string(b)
	}
}

// changesView shows what the last change of a skill changed.
type changesView struct {
	*catalog.Opened
	Owner         catalog.Principal
	Path, Restore string
	Changes       []change
	Same          bool // but for what no diff tells
}

func (v *visit) customChanges() error {
	s, own, err := v.opened()
	if err != nil {
		return err
	}
	if s.Previous == nil {
		return &catalog.Error{Code: catalog.NoPrevious, Message: "This skill has not been changed since it was made, so there is nothing to compare it with."}
	}
	d := &changesView{
		Opened: s, Owner: own, Path: customPath(s.Name, own.ID), Restore: customPath(s.Name, own.ID, "restore"),
		Changes: changes(s.Previous, &s.Content),
	}
	return v.render("changes", "Changes of "+s.Name, d)
}

func (v *visit) restoreCustom() error {
	_, own, err := v.owners()
	if err != nil {
		return err
	}
	name := v.r.PathValue("name")
	if _, err = v.o.Custom.Restore(v.ctx(), v.caller(), own.ID, name, v.revision()); errors.Is(err, &catalog.Error{Code: catalog.Conflict}) {
		return &trouble{status: http.StatusPreconditionFailed, title: "It has changed meanwhile", message: "Somebody has saved this skill since the page was made. " +
			"Look at its changes again before you restore: the earlier state is another one by now."}
	} else if err != nil {
		return err
	}
	return v.done(customPath(name, own.ID), "restored")
}

// deleteView asks before a skill is deleted, and tells afterwards what that touched.
type deleteView struct {
	*catalog.Opened
	Owner   catalog.Principal
	Path    string
	Send    string // where the form goes
	List    string
	Allowed []catalog.AllowlistRow
	Fault   string
	Deleted *catalog.Deleted
}

func (v *visit) askDelete() error { return v.confirm("", http.StatusOK) }

// confirm shows the page that asks.
func (v *visit) confirm(fault string, status int) error {
	s, own, err := v.opened()
	if err != nil {
		return err
	}
	d := &deleteView{Opened: s, Owner: own, Path: customPath(s.Name, own.ID), Send: customPath(s.Name, own.ID, "delete"), List: withOwner(Base+"/custom", own.ID), Fault: fault}
	if d.Allowed, err = v.o.Custom.Allowlist(v.ctx(), v.caller(), own.ID, s.Name); err != nil {
		return err
	}
	return v.renderAs(status, "delete", "Delete "+s.Name, d)
}

// deleteCustom deletes and tells what that touched: this is known now and never again.
func (v *visit) deleteCustom() error {
	_, own, err := v.owners()
	if err != nil {
		return err
	}
	gone, err := v.o.Custom.Delete(v.ctx(), v.caller(), own.ID, v.r.PathValue("name"), v.revision())
	if errors.Is(err, &catalog.Error{Code: catalog.Conflict}) {
		return v.confirm("Somebody has saved this skill since the page was made, so nothing was deleted. Look at it before you delete it.", http.StatusPreconditionFailed)
	}
	if err != nil {
		return err
	}
	return v.render("deleted", gone.Name+" is deleted", &deleteView{Owner: own, List: withOwner(Base+"/custom", own.ID), Deleted: gone})
}
