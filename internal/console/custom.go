package console

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

// customPages are those of custom skills. A skill can't be called "-", so what is below that is the area's own.
func (c *Console) customPages() []page {
	if c.o.Custom == nil || c.o.Reader == nil {
		return nil
	}
	const base = Base + "/custom"
	read := func(path string, serve func(*visit) error) page {
		return page{pattern: "GET " + base + path, scope: auth.SkillsRead, serve: serve}
	}
	write := func(pattern, path string, serve func(*visit) error) page {
		return page{pattern: pattern + " " + base + path, scope: auth.SkillsWrite, people: true, serve: serve}
	}
	return []page{
		read("", (*visit).customs), read("/{name}", (*visit).custom), read("/{name}/files/{path...}", (*visit).customFile),
		write("GET", "/-/new", (*visit).newCustom), write("POST", "/-/new", (*visit).saveNew), write("POST", "/-/check", (*visit).checkDraft),
		write("GET", "/{name}/edit", (*visit).editCustom), write("POST", "/{name}/edit", (*visit).saveCustom),
		write("GET", "/{name}/changes", (*visit).customChanges), write("POST", "/{name}/restore", (*visit).restoreCustom),
		write("GET", "/{name}/delete", (*visit).askDelete), write("POST", "/{name}/delete", (*visit).deleteCustom),
	}
}

// customPath is the address of a custom skill's page, or of what is below it.
func customPath(name string, principal int64, below ...string) string {
	return withOwner(at(append([]string{"custom", name}, below...)...), principal)
}

// customsView lists the custom skills of one principal.
type customsView struct {
	Owners []ownerLink
	Owner  catalog.Principal
	Rows   []customRow
	Most   int
	New    string // "": not for who asks
}

// ownerLink leads to the skills of a principal.
type ownerLink struct {
	catalog.Principal
	Path string
	Here bool
}

type customRow struct {
	catalog.CustomSkill
	Path   string
	Errors bool
}

func (v *visit) customs() error {
	owners, own, err := v.owners()
	if err != nil {
		return err
	}
	d := &customsView{Owner: own, Most: catalog.MaxCustom}
	for _, p := range owners {
		d.Owners = append(d.Owners, ownerLink{p, withOwner(Base+"/custom", p.ID), p.ID == own.ID})
	}
	if own.Write && v.mayWrite() {
		d.New = withOwner(at("custom", "-", "new"), own.ID)
	}
	all, err := v.o.Custom.List(v.ctx(), v.caller(), own.ID)
	if err != nil {
		return err
	}
	for i := range all {
		d.Rows = append(d.Rows, customRow{all[i], customPath(all[i].Name, own.ID), grave(all[i].Warnings)})
	}
	return v.render("customs", "Custom skills", d)
}

func grave(findings []catalog.Finding) bool {
	return slices.ContainsFunc(findings, func(f catalog.Finding) bool { return f.Severity == "error" })
}

// owners are the principals that who asks can see, and the one that is asked for: its own where nobody is named.
func (v *visit) owners() (all []catalog.Principal, asked catalog.Principal, err error) {
	all, err = v.o.Reader.Principals(v.ctx(), v.caller())
	if err != nil {
		return nil, asked, err
	}
	id := v.owner()
	for i, p := range all {
		if p.ID == id || id == 0 && i == 0 {
			return all, p, nil
		}
	}
	return all, asked, &trouble{status: http.StatusNotFound, title: "Nobody of this number", message: "No principal that you can see has the number " +
		strconv.FormatInt(id, 10) + ". Custom skills, in the menu, lists those whose skills you can see."}
}
