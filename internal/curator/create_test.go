package curator

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

func filled(n int, content string) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("f%02d.md", i)] = content
	}
	return files
}

// Each rule, at its border and beyond it.
func TestWhatACustomSkillMayBe(t *testing.T) {
	r := newRig(t)
	r.Plugins = []a2e.Plugin{hosts{"their_tool"}}
	long := func(n int) string { return strings.Repeat("é", n) }
	for name, tt := range map[string]struct {
		change func(*catalog.Draft)
		want   catalog.Code
	}{
		"nothing special":                 {func(*catalog.Draft) {}, ""},
		"no name":                         {func(d *catalog.Draft) { d.Name = nil }, catalog.ValidationError},
		"a blank name":                    {func(d *catalog.Draft) { d.Name = ptr(" \t") }, catalog.ValidationError},
		"a name with blanks around":       {func(d *catalog.Draft) { d.Name = ptr(" notes ") }, ""},
		"a name in capitals":              {func(d *catalog.Draft) { d.Name = ptr("Notes") }, catalog.SkillInvalid},
		"a name with two hyphens":         {func(d *catalog.Draft) { d.Name = ptr("a--b") }, catalog.SkillInvalid},
		"a name of 64":                    {func(d *catalog.Draft) { d.Name = ptr(strings.Repeat("n", 64)) }, ""},
		"a name of 65":                    {func(d *catalog.Draft) { d.Name = ptr(strings.Repeat("n", 65)) }, catalog.SkillInvalid},
		"a name that is a word of YAML":   {func(d *catalog.Draft) { d.Name = ptr("null") }, ""},
		"a name that is a number":         {func(d *catalog.Draft) { d.Name = ptr("1e3") }, ""},
		"a shipped name":                  {func(d *catalog.Draft) { d.Name = ptr("time-arithmetic") }, catalog.NameReserved},
		"a shipped name, written freely":  {func(d *catalog.Draft) { d.Name = ptr(" Time_Arithmetic") }, catalog.NameReserved},
		"the name of a hosted skill":      {func(d *catalog.Draft) { d.Name = ptr("their-tool") }, catalog.NameReserved},
		"no description":                  {func(d *catalog.Draft) { d.Description = nil }, catalog.SkillInvalid},
		"a blank description":             {func(d *catalog.Draft) { d.Description = ptr(" \n") }, catalog.SkillInvalid},
		"a description of 1024":           {func(d *catalog.Draft) { d.Description = ptr(long(1024)) }, ""},
		"a description of 1025":           {func(d *catalog.Draft) { d.Description = ptr(long(1025)) }, catalog.DescriptionLong},
		"1024 with blanks around":         {func(d *catalog.Draft) { d.Description = ptr("  " + long(1024) + "\n") }, ""},
		"compatibility of 500":            {func(d *catalog.Draft) { d.Compatibility = ptr(long(500)) }, ""},
		"compatibility of 501":            {func(d *catalog.Draft) { d.Compatibility = ptr(long(501)) }, catalog.SkillInvalid},
		"tools with a comma":              {func(d *catalog.Draft) { d.AllowedTools = ptr("agent, read_url") }, catalog.SkillInvalid},
		"tools with a scope":              {func(d *catalog.Draft) { d.AllowedTools = ptr("Bash(git:*)") }, catalog.SkillInvalid},
		"20 files":                        {func(d *catalog.Draft) { d.Files = ptr(filled(20, "x")) }, ""},
		"21 files":                        {func(d *catalog.Draft) { d.Files = ptr(filled(21, "x")) }, catalog.TooManyFiles},
		"a file of 50000":                 {func(d *catalog.Draft) { d.Files = ptr(filled(1, strings.Repeat("x", 50_000))) }, ""},
		"a file of 50001":                 {func(d *catalog.Draft) { d.Files = ptr(filled(1, strings.Repeat("x", 50_001))) }, catalog.FileTooLarge},
		"an empty file":                   {func(d *catalog.Draft) { d.Files = ptr(filled(1, "")) }, ""},
		"SKILL.md among the files":        {func(d *catalog.Draft) { *d = withFiles(*d, "SKILL.md", "x") }, catalog.ValidationError},
		"a file below SKILL.md":           {func(d *catalog.Draft) { *d = withFiles(*d, "SKILL.md/a", "x") }, catalog.ValidationError},
		"a file that is a folder":         {func(d *catalog.Draft) { *d = withFiles(*d, "a", "x", "a/b/c", "y") }, catalog.ValidationError},
		"a file that is no text":          {func(d *catalog.Draft) { *d = withFiles(*d, "a", "\xff") }, catalog.ValidationError},
		"a body that is no text":          {func(d *catalog.Draft) { d.Body = ptr("\xff") }, catalog.ValidationError},
		"metadata with a NUL":             {func(d *catalog.Draft) { d.Metadata = &map[string]string{"a": "\x00"} }, catalog.ValidationError},
		"no body":                         {func(d *catalog.Draft) { d.Body = nil }, ""},
		"a body that makes a long SKILL":  {func(d *catalog.Draft) { d.Body = ptr(strings.Repeat("x", 49_990)) }, catalog.FileTooLarge},
		"metadata that makes a long one":  {func(d *catalog.Draft) { d.Metadata = &map[string]string{"a": strings.Repeat("x", 50_000)} }, catalog.FileTooLarge},
		"a path of more bytes than there": {func(d *catalog.Draft) { *d = withFiles(*d, strings.Repeat("p", 600), "") }, catalog.ValidationError},
	} {
		t.Run(name, func(t *testing.T) {
			d := draft("notes")
			tt.change(&d)
			s, err := r.Create(t.Context(), alice, 0, d)
			refused(t, err, tt.want)
			if (s == nil) != (tt.want != "") {
				t.Errorf("%+v", s)
			}
			if s == nil {
				return
			}
			if _, err := r.Delete(t.Context(), alice, 0, s.Name, s.Revision); err != nil {
				t.Error(err)
			}
		})
	}
}

// The names of the host's own skills are taken, also where no plugin offers them, and for agents that have them switched off.
func TestTheNamesOfTheHostsSkillsAreTaken(t *testing.T) {
	r := newRig(t)
	who := alice
	for _, name := range []string{"skill", "manage-skill", "skill-catalog"} {
		_, err := r.Create(t.Context(), who, 0, draft(name))
		refused(t, err, catalog.NameReserved)
	}
	who.Agent = "off"
	r.Plugins = []a2e.Plugin{switched{hosts{"their_tool"}}}
	_, err := r.Create(t.Context(), who, 0, draft("their-tool"))
	refused(t, err, catalog.NameReserved)
}

// switched offers nothing to agents.
type switched struct{ hosts }

func (s switched) ListSkills(ctx context.Context, who a2e.Caller) ([]a2e.Definition, error) {
	if who.Agent != "" {
		return nil, nil
	}
	return s.hosts.ListSkills(ctx, who)
}

// hosts is a plugin with skills of these names.
type hosts []string

func (h hosts) ListSkills(context.Context, a2e.Caller) ([]a2e.Definition, error) {
	var defs []a2e.Definition
	for _, name := range h {
		defs = append(defs, a2e.Definition{Name: name, Status: "Published"})
	}
	return defs, nil
}

func (hosts) ExecuteSkill(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
	return &a2e.Result{Success: true}, nil
}

func TestUnsafePathsAreRefused(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"", "/a", "a/", "a//b", "./a", "a/..", "../a", "..", ".", `a\b`, "a\x00b", "a\nb", "a\x7f", "a/./b", "\xff",
		strings.Repeat("a", mostPart+1), strings.Repeat("a/", mostPath/2) + "b", strings.Repeat("a/", 95_000) + "b", // deep ones would take minutes
	} {
		_, err := r.Create(t.Context(), alice, 0, withFiles(draft("notes"), path, "x"))
		refused(t, err, catalog.ValidationError)
	}
	for i, path := range []string{"a", "a b", "a/b/c.md", "...", ".hidden", "ü/技能.md", "a:b", strings.Repeat("a", mostPart)} {
		r.create(t, alice, 0, withFiles(draft(fmt.Sprintf("notes-%d", i)), path, "x"))
	}
}

// 200 KB are the body, the files, the name, the description and 128 bytes more.
func TestTheWholeSkillHasABudget(t *testing.T) {
	r := newRig(t)
	d := draft("notes")
	d.Body, d.Description = ptr(strings.Repeat("b", 1000)), ptr("dd")
	files := filled(4, strings.Repeat("x", 40_000))
	rest := 200_000 - 4*40_000 - 1000 - len("notes") - len("dd") - 128
	files["rest.md"] = strings.Repeat("y", rest)
	d.Files = &files
	r.create(t, alice, 0, d)
	d.Body = ptr(*d.Body + "b")
	d.Name = ptr("nodes")
	_, err := r.Create(t.Context(), alice, 0, d)
	refused(t, err, catalog.TotalSize)
	// What is kept counts too.
	_, err = r.Update(t.Context(), alice, 0, "notes", catalog.AnyRevision, catalog.Draft{Body: d.Body})
	refused(t, err, catalog.TotalSize)
	if _, err = r.Update(t.Context(), alice, 0, "notes", catalog.AnyRevision, catalog.Draft{Body: d.Body, Description: ptr("d")}); err != nil {
		t.Error(err)
	}
}

func TestAPrincipalHas25Skills(t *testing.T) {
	r := newRig(t)
	team := r.group(t, admin)
	for i := range 25 {
		r.create(t, admin, team, draft(fmt.Sprintf("s%d", i)))
	}
	_, err := r.Create(t.Context(), admin, team, draft("one-more"))
	refused(t, err, catalog.LimitReached)
	r.create(t, admin, 0, draft("mine")) // another principal's count
	if _, err := r.Delete(t.Context(), admin, team, "s3", catalog.AnyRevision); err != nil {
		t.Fatal(err)
	}
	r.create(t, admin, team, draft("one-more"))
}

// The first check that fails answers: principal, quota, name, files, taken, reserved, description, total, frontmatter.
func TestTheOrderOfChecks(t *testing.T) {
	full, free := newRig(t), newRig(t)
	for i := range 25 {
		full.create(t, alice, 0, draft(fmt.Sprintf("s%d", i)))
	}
	team := full.group(t, admin)
	full.create(t, admin, team, draft("g"))
	free.create(t, alice, 0, draft("notes"))
	// Everything is wrong; the steps mend one thing each.
	d := catalog.Draft{
		Name: ptr(" "), Description: ptr(strings.Repeat("d", 1025)), Body: ptr(strings.Repeat("b", 200_000)),
		AllowedTools: ptr("a,b"), Files: ptr(map[string]string{"../x": ""}),
	}
	_, err := full.Create(t.Context(), alice, team, d)
	refused(t, err, catalog.Forbidden)
	_, err = full.Create(t.Context(), alice, 0, d)
	refused(t, err, catalog.LimitReached)
	for _, step := range []struct {
		want catalog.Code
		says string
		mend func()
	}{
		{catalog.ValidationError, "name", func() { d.Name = ptr("notes") }},
		{catalog.ValidationError, "path", func() { d.Files = &map[string]string{"x": ""} }},
		{catalog.NameTaken, "notes", func() { d.Name = ptr("word-count") }},
		{catalog.NameReserved, "word-count", func() { d.Name = ptr("Free") }},
		{catalog.DescriptionLong, "1024", func() { d.Description = ptr("d") }},
		{catalog.TotalSize, "200000", func() { d.Body = ptr(strings.Repeat("b", 50_000)) }},
		{catalog.FileTooLarge, "SKILL.md", func() { d.Body = ptr("b") }},
		{catalog.SkillInvalid, "frontmatter", func() { d.Name, d.AllowedTools = ptr("free"), ptr("a b") }},
	} {
		_, err := free.Create(t.Context(), alice, 0, d)
		refused(t, err, step.want)
		if err != nil && !strings.Contains(err.Error(), step.says) {
			t.Errorf("%v does not name %s", err, step.says)
		}
		step.mend()
	}
	free.create(t, alice, 0, d)
}

// An invalid skill is refused with all that is wrong, as the format's validator names it.
func TestFindingsOfARefusedSkill(t *testing.T) {
	r := newRig(t)
	d := draft("Bad--Name")
	d.Body = ptr(strings.Repeat("x\n", 600))
	d.AllowedTools = ptr("Read a,")
	_, err := r.Create(t.Context(), alice, 0, d)
	refused(t, err, catalog.SkillInvalid)
	var e *catalog.Error
	if !asError(err, &e) {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, f := range e.Errors {
		got[f.Code+" "+f.Severity+" "+f.Path]++
	}
	for _, f := range e.Warnings {
		got[f.Code+" "+f.Severity+" "+f.Path]++
	}
	want := map[string]int{
		"NAME_CONSECUTIVE_HYPHEN error name": 1, "NAME_PATTERN error name": 1, "ALLOWED_TOOLS_INVALID error allowed-tools": 2,
		"SKILL_BODY_OVERSIZE warning body": 1,
	}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%s: %d, want %d", k, got[k], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	d.Name, d.AllowedTools = ptr("good-name"), nil
	s := r.create(t, alice, 0, d) // a warning refuses nothing
	if len(s.Warnings) != 1 || s.Warnings[0].Code != "SKILL_BODY_OVERSIZE" {
		t.Errorf("%+v", s.Warnings)
	}
}
