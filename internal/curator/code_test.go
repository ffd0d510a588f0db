package curator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

func TestWhichPrincipalsAPatternNames(t *testing.T) {
	user := func(name string) catalog.Owner { return catalog.Owner{Kind: catalog.KindUser, Name: name} }
	group := func(name string) catalog.Owner { return catalog.Owner{Kind: catalog.KindGroup, Name: name} }
	for pattern, tt := range map[string]struct{ yes, no []catalog.Owner }{
		"alice":      {[]catalog.Owner{user("alice")}, []catalog.Owner{group("alice"), user("alice2"), user("Alice"), user("")}},
		"group:team": {[]catalog.Owner{group("team")}, []catalog.Owner{user("group:team"), user("team"), group("group:team")}},
		"group:*":    {[]catalog.Owner{group("team"), group("x")}, []catalog.Owner{user("group:team"), user("x")}},
		"oidc:*":     {[]catalog.Owner{user("oidc:a"), user("oidc:")}, []catalog.Owner{user("uid:1"), group("oidc:a")}},
		"a*b*c":      {[]catalog.Owner{user("abc"), user("axbbxc")}, []catalog.Owner{user("ac"), user("abcd"), user("acb")}},
		"*a":         {[]catalog.Owner{user("a"), user("ba")}, []catalog.Owner{user(""), group("a"), user("group:a")}},
		"*":          {[]catalog.Owner{user("a"), user(""), group("x"), user("group:a")}, nil},
		"":           {nil, []catalog.Owner{user(""), group(""), user("a")}},
	} {
		for _, o := range tt.yes {
			if !Names(pattern, o) {
				t.Errorf("%q does not name %+v", pattern, o)
			}
		}
		for _, o := range tt.no {
			if Names(pattern, o) {
				t.Errorf("%q names %+v", pattern, o)
			}
		}
	}
}

// Custom skills carry code only where the operator's policy lets their principal: when they are written, and whenever they
// are loaded.
func TestCodeNeedsTheOperatorsPolicy(t *testing.T) {
	r := newRig(t, "alice", "group:team")
	team := r.group(t, admin)
	code := []string{"skill.yaml", "scripts/main.py", "scripts/data.txt", "main.py", "main.js", "main.anything", "run.py"}
	for _, path := range code {
		_, err := r.Create(t.Context(), bob, 0, withFiles(draft("his"), path, ""))
		refused(t, err, catalog.Forbidden)
		_, err = r.Create(t.Context(), admin, 0, withFiles(draft("hers"), path, "")) // the group may, its admin may not
		refused(t, err, catalog.Forbidden)
		name := "c-" + strings.NewReplacer("/", "-", ".", "-").Replace(path)
		r.create(t, alice, 0, withFiles(draft(name), path, ""))
		r.create(t, admin, team, withFiles(draft(name), path, ""))
	}
	for _, path := range []string{"docs/main.py", "references/skill.yaml", "mainly.md", "run.py.md", "scripts.md", "a/scripts/x"} {
		r.create(t, bob, 0, withFiles(draft("d-"+strings.NewReplacer("/", "-", ".", "-").Replace(path)), path, "x"))
	}
	plain := r.create(t, bob, 0, draft("plain"))
	_, err := r.Update(t.Context(), bob, 0, "plain", catalog.AnyRevision, withFiles(catalog.Draft{}, "main.py", ""))
	refused(t, err, catalog.Forbidden)
	if now, _ := r.Show(t.Context(), bob, 0, "plain"); now.Revision != plain.Revision {
		t.Error("a refused update has changed the skill")
	}
	if s, _ := r.see(t, alice).Find("c-main-py"); s.Status != skills.Published || s.Run.Kind != "python" {
		t.Errorf("%+v", s)
	}

	// whatever such a skill is called, settings for shipped skills are not for it
	r.create(t, alice, 0, withFiles(draft("deploy"), "skill.yaml", "tools: [time]\nsecrets: [TOKEN]\nrun: {script: main.py}\n", "main.py", ""))
	for _, tt := range []struct {
		skill, pattern string
		who            a2e.Caller
	}{{"c-main-py", "custom:alice/c-*", alice}, {"deploy", "custom:alice/deploy", alice}, {"c-main-py", "custom:group:team/c-*", admin}} {
		s, _ := r.see(t, tt.who).Find(tt.skill)
		if s == nil || !s.In([]string{tt.pattern}) || s.In([]string{"*", tt.skill, "custom:bob/*"}) {
			t.Errorf("%s: %+v", tt.pattern, s)
		}
	}

	narrower := r.again(t)
	narrower.code = []string{"group:team"}
	s, _ := narrower.see(t, alice).Find("c-main-py")
	if s.Status != skills.Blocked || !strings.Contains(s.BlockedWhy, "policy.custom.code") {
		t.Errorf("%+v", s)
	}
	shown, err := narrower.Show(t.Context(), alice, 0, "c-main-py")
	want := []catalog.Finding{{Code: skills.CodeNoCode, Severity: "error", Path: "main.py", Message: "policy.custom.code of the configuration does not let this principal's skills carry code"}}
	if d := cmp.Diff(want, shown.Warnings); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if s, _ := narrower.see(t, admin).Find("c-main-py"); s.Status != skills.Published {
		t.Errorf("the group's: %+v", s)
	}
	if _, err := narrower.Read(t.Context(), alice, 0, "c-main-py", "main.py"); err != nil {
		t.Errorf("what is blocked can still be read: %v", err)
	}
	// It can be mended: without the code it is instructions again.
	if _, err := narrower.Update(t.Context(), alice, 0, "c-main-py", catalog.AnyRevision, catalog.Draft{Body: ptr("x")}); codeOf(err) != catalog.Forbidden {
		t.Errorf("a write that keeps the code: %v", err)
	}
	if _, err := narrower.Update(t.Context(), alice, 0, "c-main-py", catalog.AnyRevision, withFiles(catalog.Draft{})); err != nil {
		t.Error(err)
	}
	if s, _ := narrower.see(t, alice).Find("c-main-py"); s.Status != skills.Published || s.Run.Kind != "agent" {
		t.Errorf("%+v", s)
	}
}

// A skill.yaml is checked like any other, and what it needs of other skills is looked up among the shipped ones and the
// principal's own.
func TestCustomSkillsInCompany(t *testing.T) {
	r := newRig(t, "*")
	_, err := r.Create(t.Context(), alice, 0, withFiles(draft("broken"), "skill.yaml", "unknown: 1\n"))
	refused(t, err, catalog.SkillInvalid)
	r.create(t, bob, 0, draft("his"))
	r.create(t, alice, 0, withFiles(draft("helper"), "skill.yaml", "tools: ['skill:time-arithmetic']\n"))
	r.create(t, alice, 0, withFiles(draft("user"), "skill.yaml", "writes: true\nincludes: [helper, word-count]\ntools: ['skill:helper']\n"))
	find := func(name string) *skills.Skill {
		t.Helper()
		s, _ := r.see(t, alice).Find(name)
		if s == nil {
			t.Fatalf("there is no %s", name)
		}
		return s
	}
	before := find("user")
	if before.Status != skills.Published || !cmp.Equal(before.ToolNames, []string{"skill:helper", "skill:time-arithmetic"}) {
		t.Fatalf("%v %s: %s", before.ToolNames, before.Status, before.BlockedWhy)
	}
	if find("user") != before {
		t.Error("the same skill has two values")
	}
	lost := r.create(t, alice, 0, withFiles(draft("lost"), "skill.yaml", "tools: ['skill:his']\n"))
	if s := find("lost"); s.Status != skills.Blocked || !strings.Contains(s.BlockedWhy, `there is no skill "his"`) || len(lost.Warnings) != 1 {
		t.Errorf("another's skill as a tool: %+v, %+v", s, lost.Warnings)
	}
	// A change of what it includes changes it, on disk as in the store.
	if _, err := r.Update(t.Context(), alice, 0, "helper", catalog.AnyRevision, withFiles(catalog.Draft{}, "skill.yaml", "status: Archived\n")); err != nil {
		t.Fatal(err)
	}
	if s := find("user"); s.Status != skills.Blocked || !strings.Contains(s.BlockedWhy, "helper") {
		t.Errorf("after its helper was archived: %+v", s)
	}
	if _, err := r.Update(t.Context(), alice, 0, "helper", catalog.AnyRevision, withFiles(catalog.Draft{})); err != nil {
		t.Fatal(err)
	}
	if s := find("user"); s.Status != skills.Published {
		t.Errorf("after its helper is back: %s", s.BlockedWhy)
	}
	for name := range r.disk {
		if strings.HasPrefix(name, "word-count/") {
			delete(r.disk, name)
		}
	}
	if err := r.lib.Refresh(); err != nil {
		t.Fatal(err)
	}
	if s := find("user"); s.Status != skills.Blocked || !strings.Contains(s.BlockedWhy, "word-count") {
		t.Errorf("after a shipped one is gone: %+v", s)
	}
}
