package skills

import (
	"slices"
	"strings"
	"testing"
)

// The name of a custom skill is its principal's choice: it never stands for what an operator means by a plain name.
func TestPatternsOfSkills(t *testing.T) {
	shipped, plugin := &Skill{Name: "deploy", Source: SourceProject}, &Skill{Name: "deploy", Source: "my-plugin"}
	alices, bobs := &Skill{Name: "deploy", Source: SourceUser, Owner: &Owner{Name: "alice"}}, &Skill{Name: "deploy", Owner: &Owner{Name: "team/bob"}}
	teams := &Skill{Name: "deploy", Owner: &Owner{Group: true, Name: "alice"}}
	fake := &Skill{Name: "deploy", Owner: &Owner{Name: "group:alice"}}
	nobodys, unknown := &Skill{Name: "deploy", Owner: &Owner{}}, &Skill{Name: "deploy", Source: SourceUser}
	all := []*Skill{shipped, plugin, alices, bobs, teams, fake, nobodys, unknown}
	custom := all[2:]
	for p, want := range map[string][]*Skill{
		"deploy": {shipped, plugin}, "*": {shipped, plugin}, "dep*": {shipped, plugin}, "report-*": nil, "": nil, "custom": nil,
		"custom:deploy": custom, "custom:*": custom, "custom:d*y": custom, "custom:report-*": nil, "custom:": nil,
		"custom:*/deploy": custom, "custom:/deploy": nil, "custom:alice/": nil, "custom:custom:deploy": nil,
		"custom:alice/deploy": {alices}, "custom:alice/*": {alices}, "custom:a*/deploy": {alices}, "custom:alice/report-*": nil,
		"custom:team/bob/deploy": {bobs}, "custom:team/*": nil, "custom:team/bob/*": {bobs},
		"custom:group:alice/deploy": {teams}, "custom:group:*/*": {teams}, "*:deploy": nil, "*/deploy": nil,
	} {
		for i, s := range all {
			if s.In([]string{"other", p}) != slices.Contains(want, s) {
				t.Errorf("%q and skill %d of %+v", p, i, s.Owner)
			}
		}
	}
	for i, want := range []string{"deploy", "deploy", "custom:alice/deploy", "custom:team/bob/deploy", "custom:group:alice/deploy", "custom:deploy", "custom:deploy", "custom:deploy"} {
		if got := all[i].Scoped(); got != want || !all[i].In([]string{got}) || !GoodScope(got, func(string) bool { return true }) {
			t.Errorf("%d: %s, expected %s", i, got, want)
		}
	}
	if shipped.In(nil) || alices.In([]string{}) {
		t.Error("no pattern names a skill")
	}
}

func TestGoodScope(t *testing.T) {
	principal := func(s string) bool { return s == "alice" || s == "*" || s == "a/b" }
	for _, good := range []string{"a", "*", "report-*", "custom:a", "custom:*", "custom:alice/a", "custom:*/*", "custom:a/b/c", "custom"} {
		if !GoodScope(good, principal) {
			t.Errorf("%q does not pass", good)
		}
	}
	for _, bad := range []string{"", "A", "a/b", "alice/a", "custom:", "custom:alice/", "custom:/a", "custom:bob/a", "custom:A", "other:a", "custom:custom:a", strings.Repeat("a", 65)} {
		if GoodScope(bad, principal) {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestSplitScoped(t *testing.T) {
	for entry, want := range map[string][2]string{
		"deploy:TOKEN": {"deploy", "TOKEN"}, "custom:TOKEN": {"custom", "TOKEN"}, "custom:deploy:TOKEN": {"custom:deploy", "TOKEN"},
		"custom:group:team/*:T*": {"custom:group:team/*", "T*"}, ":": {"", ""},
	} {
		if scope, what, ok := SplitScoped(entry); !ok || scope != want[0] || what != want[1] {
			t.Errorf("%q: %q, %q, %v", entry, scope, what, ok)
		}
	}
	if _, _, ok := SplitScoped("TOKEN"); ok {
		t.Error("what has no colon is split")
	}
}
