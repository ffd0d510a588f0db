package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

func (c *Console) skillPages() []page {
	if c.o.Reader == nil {
		return nil
	}
	const base = Base + "/skills"
	all := []page{
		{pattern: "GET " + base, scope: auth.SkillsRead, serve: (*visit).skills},
		{pattern: "GET " + base + "/{name}", scope: auth.SkillsRead, serve: (*visit).skill},
		{pattern: "GET " + base + "/{name}/files/{path...}", scope: auth.SkillsRead, serve: (*visit).skillFile},
		{pattern: "GET " + base + "/{name}/try", scope: auth.Calls, serve: (*visit).try},
		{pattern: "POST " + base + "/{name}/try", scope: auth.Calls, serve: (*visit).tryIt},
	}
	if c.o.Installer != nil {
		all = append(all, page{pattern: "POST " + base + "/{name}/rollback", scope: auth.Admin, serve: (*visit).rollBack})
	}
	return all
}

// skillsView is a page of the catalogue.
type skillsView struct {
	Q, Source, Status string
	Sources, Statuses []string // that there are
	Rows              []listedSkill
	All, Found        int
	First, Last       int
	Before, After     string // addresses of the neighbouring pages
	CanWrite          bool   // custom skills
}

type listedSkill struct {
	catalog.Summary
	Path string
}

func (v *visit) skills() error {
	all, err := v.o.Reader.Skills(v.ctx(), v.caller(), 0)
	if err != nil {
		return err
	}
	d := &skillsView{
		Q: v.query("q", 200), Source: v.query("source", 200), Status: v.query("status", 40), All: len(all),
		CanWrite: v.o.Custom != nil && v.mayWrite(),
	}
	for i := range all {
		d.Sources, d.Statuses = append(d.Sources, all[i].Source), append(d.Statuses, all[i].Status)
	}
	d.Sources, d.Statuses = distinct(d.Sources), distinct(d.Statuses)
	all = slices.DeleteFunc(all, func(s catalog.Summary) bool { return !d.wants(&s) })
	d.Found = len(all)
	d.cut(v, all)
	if v.htmx() {
		return v.part("skills", "catalogue", d)
	}
	return v.render("skills", "Skills", d)
}

// mayWrite reports whether who asks may write custom skills at all: a person with the scope for it.
func (v *visit) mayWrite() bool { return v.who.May(auth.SkillsWrite) && v.who.Agent == "" }

func distinct(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// wants reports whether a skill is among what is looked for.
func (d *skillsView) wants(s *catalog.Summary) bool {
	if d.Source != "" && s.Source != d.Source || d.Status != "" && s.Status != d.Status {
		return false
	}
	name, about := strings.ToLower(s.Name), strings.ToLower(s.Description)
	for word := range strings.FieldsSeq(strings.ToLower(d.Q)) {
		if !strings.Contains(name, word) && !strings.Contains(about, word) {
			return false
		}
	}
	return true
}

// cut takes one page of what was found.
func (d *skillsView) cut(v *visit, all []catalog.Summary) {
	rows, at := cut(v, all, "")
	for _, s := range rows {
		d.Rows = append(d.Rows, listedSkill{s, skillPath(s.Name, s.Principal)})
	}
	d.First = (at.Page-1)*perPage + 1
	d.Last = d.First + len(rows) - 1
	if n := at.Before(); n > 0 {
		d.Before = d.address(n)
	}
	if n := at.After(); n > 0 {
		d.After = d.address(n)
	}
}

func (d *skillsView) address(number int) string {
	q := url.Values{}
	for name, value := range map[string]string{"q": d.Q, "source": d.Source, "status": d.Status} {
		if value != "" {
			q.Set(name, value)
		}
	}
	q.Set("page", strconv.Itoa(number))
	return Base + "/skills?" + q.Encode()
}

// skillPath is the address of a skill's page, or of what is below it. principal is 0 for what is shipped.
func skillPath(name string, principal int64, below ...string) string {
	return withOwner(at(append([]string{"skills", name}, below...)...), principal)
}

// withOwner adds to an address whose skill is meant.
func withOwner(path string, principal int64) string {
	if principal > 0 {
		path += "?principal=" + strconv.FormatInt(principal, 10)
	}
	return path
}

// owner is the principal that an address or a form means; 0 is nobody in particular.
func (v *visit) owner() int64 {
	text := v.r.URL.Query().Get("principal")
	if writes(v.r.Method) && v.form("principal") != "" {
		text = v.form("principal")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
