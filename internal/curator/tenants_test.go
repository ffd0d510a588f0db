package curator

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// tenants is a world of two users, a group and an operator, and what should be in it.
type tenants struct {
	*rig
	callers    []a2e.Caller
	principals map[string]int64 // by owner's name
	skills     map[string]map[string]kept
	ctx        context.Context
	did        map[string]int // what succeeded, how often

	book    *Agents
	agents  map[string]int64    // one of each owner
	allowed map[string][]string // what its allowlist should be
}

// kept is what a skill should be.
type kept struct {
	body, before string
	again        bool // there is something to restore
}

// nowhere is a principal that there never was.
const nowhere = 1 << 40

func newTenants(t *testing.T) *tenants {
	w := &tenants{
		rig: newRig(t), callers: []a2e.Caller{alice, bob, member, admin, boss}, principals: map[string]int64{"nowhere": nowhere},
		skills: map[string]map[string]kept{}, ctx: t.Context(), did: map[string]int{},
	}
	for _, who := range w.callers {
		w.principals[who.Principal] = w.number(t, who)
		w.skills[who.Principal] = map[string]kept{}
	}
	w.principals["team"] = w.group(t, admin)
	w.skills["team"] = map[string]kept{}
	w.book = NewAgents(w.store, nil)
	w.Gate = w.book
	w.agents, w.allowed = map[string]int64{}, map[string][]string{}
	for owner, who := range map[string]a2e.Caller{"alice": alice, "bob": bob, "team": admin} {
		w.agents[owner] = agentOf(t, w.book, who, w.principals[owner], owner+"-agent", nil)
	}
	return w
}

// allow lets the agents use everything again.
func (w *tenants) allow(t *rapid.T) {
	for owner, id := range w.agents {
		w.allowed[owner] = []string{"one", "three", "two"}
		if _, err := w.book.SetOverride(w.ctx, boss, id, 0, catalog.SkillToolName, catalog.AnyRevision, &[]string{"one", "three", "two"}); err != nil {
			t.Fatal(err)
		}
	}
}

// lists compares the allowlists with what they should be: nobody changes those of another.
func (w *tenants) lists(t *rapid.T) {
	for owner, id := range w.agents {
		o, err := w.book.Override(w.ctx, boss, id, 0, catalog.SkillToolName)
		if err != nil || o.Allowed == nil || !slices.Equal(*o.Allowed, w.allowed[owner]) {
			t.Fatalf("the allowlist of %s is %+v, want %v, %v", owner, o, w.allowed[owner], err)
		}
	}
}

// reads and writes are the matrix, written down once more.
func reads(who a2e.Caller, owner string) bool {
	return who.Principal == owner || owner == "team" && (who.Principal == "mia" || who.Principal == "ada")
}

func writesTo(who a2e.Caller, owner string) bool {
	return who.Principal == owner || owner == "team" && who.Principal == "ada"
}

// mark is in everything that belongs to an owner.
func mark(owner string) string { return "secret of " + owner }

// clean makes sure that nothing of what a caller may not see is in an answer, and that an answer about what it may not see
// is the one about what isn't there.
func (w *tenants) clean(t *rapid.T, who a2e.Caller, what string, answer any, err error) {
	text, jsonErr := json.Marshal(answer)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	all := string(text) + fmt.Sprint(err)
	for owner := range w.skills {
		if !reads(who, owner) && strings.Contains(all, mark(owner)) {
			t.Fatalf("%s of %s shows what belongs to %s: %s", what, who.Principal, owner, all)
		}
	}
}

type deal struct {
	who         a2e.Caller
	owner, name string
}

// draw is a request of anybody about anything; most are about what the caller may write.
func (w *tenants) draw(t *rapid.T) deal {
	d := deal{
		rapid.SampledFrom(w.callers).Draw(t, "who"),
		rapid.SampledFrom(slices.Sorted(maps.Keys(w.principals))).Draw(t, "owner"),
		rapid.SampledFrom([]string{"one", "one", "two", "three"}).Draw(t, "name"),
	}
	if rapid.IntRange(0, 2).Draw(t, "honest") > 0 && !writesTo(d.who, d.owner) {
		d.owner = d.who.Principal
	}
	return d
}

func (w *tenants) want(t *rapid.T, d deal, what string, err error, want catalog.Code) {
	if err == nil {
		w.did[what]++
	}
	if codeOf(err) != want {
		t.Fatalf("%s of %s in %s by %s: %v, want %q", what, d.name, d.owner, d.who.Principal, err, want)
	}
}

// verdict is what a write should answer.
func (w *tenants) verdict(d deal) catalog.Code {
	switch {
	case !writesTo(d.who, d.owner):
		return catalog.Forbidden
	case w.skills[d.owner][d.name] == kept{}:
		return catalog.SkillNotFound
	}
	return ""
}

func (w *tenants) create(t *rapid.T) {
	d := w.draw(t)
	body := mark(d.owner) + rapid.StringMatching(`[a-z]{0,4}`).Draw(t, "body")
	s, err := w.Create(w.ctx, d.who, w.principals[d.owner], withFiles(catalog.Draft{
		Name: &d.name, Description: ptr(mark(d.owner)), Body: &body,
	}, "a.md", body))
	want := w.verdict(d)
	switch want {
	case "":
		want = catalog.NameTaken
	case catalog.SkillNotFound:
		want = ""
		w.skills[d.owner][d.name] = kept{body: body}
	}
	w.want(t, d, "create", err, want)
	w.clean(t, d.who, "create", s, err)
}

func (w *tenants) update(t *rapid.T) {
	d := w.draw(t)
	body := mark(d.owner) + rapid.StringMatching(`[a-z]{0,4}`).Draw(t, "body")
	s, err := w.Update(w.ctx, d.who, w.principals[d.owner], d.name, catalog.AnyRevision, catalog.Draft{Body: &body})
	want := w.verdict(d)
	if want == "" {
		w.skills[d.owner][d.name] = kept{body, w.skills[d.owner][d.name].body, true}
	}
	w.want(t, d, "update", err, want)
	w.clean(t, d.who, "update", s, err)
}

func (w *tenants) restore(t *rapid.T) {
	d := w.draw(t)
	s, err := w.Restore(w.ctx, d.who, w.principals[d.owner], d.name, catalog.AnyRevision)
	want := w.verdict(d)
	if old := w.skills[d.owner][d.name]; want == "" && !old.again {
		want = catalog.NoPrevious
	} else if want == "" {
		w.skills[d.owner][d.name] = kept{old.before, old.body, true}
	}
	w.want(t, d, "restore", err, want)
	w.clean(t, d.who, "restore", s, err)
}

func (w *tenants) remove(t *rapid.T) {
	d := w.draw(t)
	gone, err := w.Delete(w.ctx, d.who, w.principals[d.owner], d.name, catalog.AnyRevision)
	want := w.verdict(d)
	if want == "" {
		delete(w.skills[d.owner], d.name)
		list := w.allowed[d.owner]
		if slices.Contains(list, d.name) != (gone != nil && len(gone.Agents) == 1) {
			t.Fatalf("deleting %s of %s touched %+v", d.name, d.owner, gone)
		}
		w.allowed[d.owner] = slices.DeleteFunc(list, func(s string) bool { return s == d.name })
	}
	w.want(t, d, "delete", err, want)
	w.clean(t, d.who, "delete", gone, err)
}

// read asks in every way for one skill, and for the same where there is nothing.
func (w *tenants) read(t *rapid.T) {
	d := w.draw(t)
	k, there := w.skills[d.owner][d.name]
	there = there && reads(d.who, d.owner)
	body, code, fileCode := "", catalog.SkillNotFound, catalog.SkillFileNotFound
	if there {
		body, code, fileCode = k.body, "", ""
	}
	at := w.principals[d.owner]
	s, err := w.Show(w.ctx, d.who, at, d.name)
	w.want(t, d, "show", err, code)
	w.clean(t, d.who, "show", s, err)
	if there && s.Body != body {
		t.Fatalf("body %q, want %q", s.Body, body)
	}
	file, err := w.Read(w.ctx, d.who, at, d.name, "a.md")
	w.want(t, d, "read", err, code)
	w.clean(t, d.who, "read", string(file), err)
	rows, err := w.Allowlist(w.ctx, d.who, at, d.name)
	w.want(t, d, "allowlist", err, code)
	w.clean(t, d.who, "allowlist", rows, err)
	detail, err := w.Skill(w.ctx, d.who, d.name, at)
	w.want(t, d, "skill", err, code)
	if there && detail.Body != body {
		t.Fatalf("body %q, want %q", detail.Body, body)
	}
	file, err = w.File(w.ctx, d.who, d.name, "SKILL.md", at)
	w.want(t, d, "file", err, fileCode)
	w.clean(t, d.who, "file", string(file), err)
	w.nothing(t, d)
}

// nothing compares the answers about a principal that can't be seen with those about one that isn't there.
func (w *tenants) nothing(t *rapid.T, d deal) {
	if reads(d.who, d.owner) {
		return
	}
	ask := func(principal int64) (answers []string) {
		note := func(answer any, err error) { answers = append(answers, fmt.Sprint(answer, err)) }
		note(w.List(w.ctx, d.who, principal))
		note(w.Show(w.ctx, d.who, principal, d.name))
		note(w.Read(w.ctx, d.who, principal, d.name, "a.md"))
		note(w.Allowlist(w.ctx, d.who, principal, d.name))
		note(w.Skills(w.ctx, d.who, principal))
		note(w.Skill(w.ctx, d.who, d.name, principal))
		note(w.File(w.ctx, d.who, d.name, "a.md", principal))
		note(w.Create(w.ctx, d.who, principal, draft("")))
		note(w.Update(w.ctx, d.who, principal, d.name, 1, draft("")))
		note(w.Restore(w.ctx, d.who, principal, d.name, 1))
		note(w.Delete(w.ctx, d.who, principal, d.name, 1))
		return answers
	}
	theirs, nobodys := ask(w.principals[d.owner]), ask(nowhere)
	for i := range theirs {
		if theirs[i] != nobodys[i] {
			t.Fatalf("%s learns of %s: %s, and of nobody %s", d.who.Principal, d.owner, theirs[i], nobodys[i])
		}
	}
}

// everything is compared after each step: what a caller sees on its shelf and in lists is what it should see. The callers
// take turns.
func (w *tenants) everything(t *rapid.T) {
	w.lists(t)
	w.did["turn"]++
	w.shelfOf(t, w.callers[w.did["turn"]%len(w.callers)])
}

func (w *tenants) shelfOf(t *rapid.T, who a2e.Caller) {
	v, err := w.View(w.ctx, who)
	if err != nil {
		t.Fatal(err)
	}
	sees := map[string]string{}
	for _, owner := range []string{"team", who.Principal} { // its own last: it counts
		if reads(who, owner) {
			for name, k := range w.skills[owner] {
				sees[name] = k.body
			}
		}
	}
	got := map[string]string{}
	for _, s := range v.List() {
		if w.lib.Lookup(s.Name) != nil {
			continue
		}
		if whole, _ := v.Find(s.Name); whole != nil && whole.Bundle.Digest == s.Bundle.Digest { // the list has no bodies
			got[s.Name] = whole.Instructions
		}
	}
	if !maps.Equal(sees, got) {
		t.Fatalf("%s sees %v, want %v", who.Principal, got, sees)
	}
	for _, name := range []string{"one", "two", "three"} {
		s, near := v.Find(name)
		if (s != nil) != (sees[name] != "") || s != nil && s.Instructions != sees[name] || near != "" {
			t.Fatalf("%s finds %s: %+v, %q", who.Principal, name, s, near)
		}
	}
	entries, err := w.Callable(w.ctx, who)
	if err != nil || len(entries) != len(sees)+2 {
		t.Fatalf("%s may call %d, %v", who.Principal, len(entries), err)
	}
	sums, err := w.Skills(w.ctx, who, 0)
	w.clean(t, who, "list", sums, err)
}

// empty begins anew.
func (w *tenants) empty(t *rapid.T) {
	for _, who := range []a2e.Caller{alice, bob, member, admin, boss} {
		for _, principal := range []int64{0, w.principals["team"]} {
			all, err := w.List(w.ctx, who, principal)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range all {
				_, _ = w.Delete(w.ctx, who, principal, s.Name, catalog.AnyRevision) // a member can't
			}
		}
	}
	for _, all := range w.skills {
		clear(all)
	}
	w.allow(t)
}

// seldom has [rapid.Check] check less often than it does by itself; who asks for another number gets that.
func seldom(t *testing.T, checks string) {
	f := flag.Lookup("rapid.checks")
	if was := f.Value.String(); was == f.DefValue {
		t.Cleanup(func() { _ = f.Value.Set(was) })
		if err := f.Value.Set(checks); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever tenants do, none reads, writes or learns of what is another's.
func TestTenantsAreApart(t *testing.T) {
	w := newTenants(t)
	seldom(t, "20") // each writes a database
	rapid.Check(t, func(t *rapid.T) {
		w.empty(t)
		t.Repeat(map[string]func(*rapid.T){
			"create": w.create, "update": w.update, "restore": w.restore, "delete": w.remove, "read": w.read, "allow": w.allow, "": w.everything,
		})
	})
	for _, what := range []string{"create", "update", "delete", "show", "file"} {
		if w.did[what] == 0 {
			t.Errorf("no %s has succeeded", what)
		}
	}
}
