package curator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// read uses the skill tool, and returns what it says.
func (a *agency) read(t testing.TB, who a2e.Caller, arguments string) string {
	t.Helper()
	data, fault := a.use(t, who, catalog.SkillToolName, arguments)
	if fault != "" {
		return fault
	}
	if content, ok := data["content"]; ok {
		return content.(string)
	}
	raw, err := json.Marshal(data["files"])
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// read returns one file, SKILL.md where none is named and without its frontmatter, others verbatim; files lists all.
func TestTheSkillToolReads(t *testing.T) {
	a := newAgency(t, false)
	a.create(t, alice, 0, withFiles(draft("notes"), "references/more.md", "---\nname: x\n---\nMore.\n"))
	for arguments, want := range map[string]string{
		`{"action":"read","name":"time-arithmetic"}`:                                 "Do it.\n",
		`{"name":" TIME-Arithmetic "}`:                                               "Do it.\n",
		`{"action":"read","name":"time-arithmetic","filename":"references/more.md"}`: "More about time-arithmetic.\n",
		`{"action":"read","name":"notes"}`:                                           "# notes\n",
		`{"action":"read","name":"notes","filename":"SKILL.md"}`:                     "# notes\n",
		`{"action":"read","name":"notes","filename":"references/more.md"}`:           "---\nname: x\n---\nMore.\n",
		`{"action":"files","name":"time-arithmetic"}`:                                `[{"bytes":76,"path":"SKILL.md"},{"bytes":28,"path":"references/more.md"}]`,
		`{"action":"read"}`:                                                    "schema_violation: name is required.",
		`{"action":"read","name":"  "}`:                                        "schema_violation: name is required.",
		`{"action":"read","name":"nothing"}`:                                   "unknown_skill: Skill 'nothing' is not currently available on disk.",
		`{"action":"files","name":"nothing"}`:                                  "unknown_skill: Skill 'nothing' is not currently available on disk.",
		`{"action":"read","name":"notes","filename":"nothing.md"}`:             "skill_error: File 'nothing.md' is not part of skill 'notes'.",
		`{"action":"read","name":"notes","filename":""}`:                       "skill_error: File '' is not part of skill 'notes'.",
		`{"action":"read","name":"notes","filename":"/etc/passwd"}`:            "skill_error: File '/etc/passwd' is not part of skill 'notes'.",
		`{"action":"read","name":"notes","filename":"references/../SKILL.md"}`: "skill_error: File 'references/../SKILL.md' is not part of skill 'notes'.",
		`{"action":"read","name":"notes","filename":"./SKILL.md"}`:             "skill_error: File './SKILL.md' is not part of skill 'notes'.",
		`{"action":"read","name":"notes","filename":"..\\SKILL.md"}`:           `skill_error: File '..\SKILL.md' is not part of skill 'notes'.`,
		`{"action":"read","name":"notes","filename":"SKILL.md\u0000x"}`:        "skill_error: File 'SKILL.md\x00x' is not part of skill 'notes'.",
		`{"action":"read","name":"time-arithmetic","filename":"references"}`:   "skill_error: File 'references' is not part of skill 'time-arithmetic'.",
	} {
		if got := a.read(t, alice, arguments); got != want {
			t.Errorf("%s: got %q, want %q", arguments, got, want)
		}
	}
}

// Two gates, in this order: the name is on the agent's list, and the skill is visible to the principal. A name that is on no
// list is answered in the same way whether there is such a skill or not.
func TestTheGatesOfTheSkillTool(t *testing.T) {
	a := newAgency(t, false)
	a.create(t, bob, 0, draft("his"))
	a.create(t, alice, 0, draft("mine"))
	group := a.group(t, admin)
	a.create(t, admin, group, draft("ours"))
	bot := a.agent(t, alice, 0, "bot")
	a.allow(t, alice, bot.ID, "mine", "his", "ghost", "word-count")
	denied := func(name string) string {
		return "unauthorized: Skill '" + name + "' is not in the allowed_skills list for this agent."
	}
	gone := func(name string) string {
		return "unknown_skill: Skill '" + name + "' is not currently available on disk."
	}
	for _, c := range []struct {
		who        a2e.Caller
		name, want string
	}{
		{as(alice, "bot"), "mine", "# mine\n"}, {as(alice, "bot"), "word-count", "Do it.\n"},
		{as(alice, "bot"), "time-arithmetic", denied("time-arithmetic")}, {as(alice, "bot"), "nothing", denied("nothing")},
		{as(alice, "bot"), "ours", denied("ours")},
		{as(alice, "bot"), "his", gone("his")}, {as(alice, "bot"), "ghost", gone("ghost")}, // on the list, and not to be seen
		{alice, "his", gone("his")}, {alice, "time-arithmetic", "Do it.\n"}, {as(alice, "other"), "time-arithmetic", "Do it.\n"},
		{as(member, "bot"), "ours", "# ours\n"}, {as(bob, "bot"), "ours", gone("ours")},
	} {
		if got := a.read(t, c.who, `{"name":"`+c.name+`"}`); got != c.want {
			t.Errorf("%s/%s reads %s: got %q, want %q", c.who.Principal, c.who.Agent, c.name, got, c.want)
		}
	}
	// A personal skill on a group agent's list is not readable by the group.
	theirs := a.agent(t, admin, group, "team-bot")
	a.create(t, admin, 0, draft("private"))
	a.allow(t, admin, theirs.ID, "private")
	if got := a.read(t, as(member, "team-bot"), `{"name":"private"}`); got != gone("private") {
		t.Errorf("got %q", got)
	}
}

// Who signed in makes no difference to what a group's agent sees: what the group has, and never what the person has, under
// whatever name, at every place.
func TestAGroupsAgentSeesWhatTheGroupHas(t *testing.T) {
	a := newAgency(t, false)
	group := a.group(t, admin)
	a.create(t, admin, group, draft("ours"))
	theirs := a.agent(t, admin, group, "team-bot")
	a.allow(t, admin, theirs.ID, "ours", "private", "word-count")
	body := draft("ours")
	body.Body = ptr("the member's\n")
	a.create(t, member, 0, body) // which would come first
	a.create(t, member, 0, draft("private"))
	bot := as(member, "team-bot")
	if got := a.read(t, bot, `{"name":"ours"}`); got != "# ours\n" {
		t.Errorf("got %q", got)
	}
	if got := a.read(t, bot, `{"name":"private"}`); got != "unknown_skill: Skill 'private' is not currently available on disk." {
		t.Errorf("got %q", got)
	}
	v := a.see(t, bot)
	if s, _ := v.Find("private"); s != nil {
		t.Error("it can be called")
	}
	if s, _ := v.Find("word-count"); s == nil || !v.Allows(s) {
		t.Error("what is shipped can't be called")
	}
	if s, _ := v.Find("ours"); s == nil || s.Owner == nil || !s.Owner.Group {
		t.Errorf("the member's comes first: %+v", s)
	}
	for _, principal := range []int64{0, a.number(t, member)} {
		refused(t, second(a.Show(t.Context(), bot, principal, "private")), catalog.SkillNotFound)
		if all, err := a.List(t.Context(), bot, principal); err != nil || len(all) != 0 {
			t.Errorf("of %d: %v, %v", principal, all, err)
		}
		refused(t, second(a.Skill(t.Context(), bot, "private", principal)), catalog.SkillNotFound)
	}
	if s, err := a.Show(t.Context(), bot, group, "ours"); err != nil || s.Principal != group {
		t.Errorf("got %+v, %v", s, err)
	}
	if got := a.read(t, as(member, "own-bot"), `{"name":"private"}`); got != "# private\n" {
		t.Errorf("one that is nobody's agent: %q", got)
	}
}

// What is over the cap is in the listing and is not read.
func TestTheSkillToolIsCapped(t *testing.T) {
	a := newAgency(t, false)
	a.disk["word-count/big.md"] = a.disk["word-count/SKILL.md"]
	a.put(t, "word-count/big.md", strings.Repeat("x", catalog.MaxRead+1))
	a.put(t, "word-count/full.md", strings.Repeat("x", catalog.MaxRead))
	if got := a.read(t, alice, `{"name":"word-count","filename":"big.md"}`); got != "skill_error: File 'big.md' of skill 'word-count' is too large: reads are capped at 50000 bytes." {
		t.Errorf("got %.200s", got)
	}
	if got := a.read(t, alice, `{"name":"word-count","filename":"full.md"}`); len(got) != catalog.MaxRead {
		t.Errorf("got %d bytes", len(got))
	}
	if got := a.read(t, alice, `{"action":"files","name":"word-count"}`); !strings.Contains(got, "big.md") {
		t.Errorf("got %s", got)
	}
}

func (a *agency) offered(t testing.TB, who a2e.Caller) map[string]string {
	t.Helper()
	defs, err := a.hosted.ListSkills(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, d := range defs {
		out[d.Name] = d.Description
		if _, err := skills.CompileSchema(d.InputSchema, "arguments"); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	return out
}

// The skill tool's description lists name and about 80 characters of the description of each skill that this caller may use,
// and no others; it follows every change.
func TestTheListingForModels(t *testing.T) {
	a := newAgency(t, false)
	d := draft("notes")
	long := strings.Repeat("äbc ", 40)
	d.Description = &long
	a.create(t, alice, 0, d)
	bot := a.agent(t, alice, 0, "bot")
	listed := func(who a2e.Caller) string {
		_, after, _ := strings.Cut(a.offered(t, who)["skill"], aboutSkill)
		return after
	}
	full := "\nAvailable skills:\n- notes: " + strings.TrimRight(strings.Repeat("äbc ", 20)[:0]+string([]rune(long)[:79]), " ") + "…" +
		"\n- time-arithmetic: Shipped time-arithmetic.\n- word-count: Shipped word-count."
	if got := listed(alice); got != full {
		t.Errorf("alice: %s", got)
	}
	if got := listed(bob); strings.Contains(got, "notes") || !strings.Contains(got, "word-count") {
		t.Errorf("bob: %s", got)
	}
	a.allow(t, alice, bot.ID)
	if got := listed(as(alice, "bot")); got != "\nNo skill is available." {
		t.Errorf("an empty list: %s", got)
	}
	a.allow(t, alice, bot.ID, "word-count")
	if got := listed(as(alice, "bot")); got != "\nAvailable skills:\n- word-count: Shipped word-count." {
		t.Errorf("one: %s", got)
	}
}

func TestTheListingIsBounded(t *testing.T) {
	r := newRig(t)
	for i := range mostListedSkills + 5 {
		r.ship(fmt.Sprintf("many-%03d", i), "")
	}
	r.lib = library(t, r.disk)
	r.Curator = New(Config{Shipped: r.lib, Store: r.store})
	a := staffed(r, false)
	if got := a.offered(t, alice)["skill"]; !strings.HasSuffix(got, "\n(and 7 more: skill-catalog lists them)") || len(got) > 32<<10 {
		t.Errorf("%d bytes: ...%s", len(got), got[len(got)-200:])
	}
	for i := range mostListings + 5 {
		a.offered(t, a2e.Caller{Principal: fmt.Sprint("p", i)})
	}
	if len(a.hosted.listings) > mostListings {
		t.Errorf("%d listings are remembered", len(a.hosted.listings))
	}
}

// An agent has the tools that are switched on; who is no agent that is known has all.
func TestWhatIsOfferedToWhom(t *testing.T) {
	a := newAgency(t, false)
	bot := a.agent(t, alice, 0, "bot")
	names := func(who a2e.Caller) (list []string) {
		for _, name := range []string{catalogTool, manageTool, catalog.SkillToolName} {
			if _, ok := a.offered(t, who)[name]; ok {
				list = append(list, name)
			}
		}
		return list
	}
	all := []string{catalogTool, manageTool, catalog.SkillToolName}
	if diff := cmp.Diff([][]string{all, all, {catalogTool}}, [][]string{names(alice), names(as(alice, "other")), names(as(alice, "bot"))}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tool := range []string{manageTool, catalog.SkillToolName} {
		if _, err := a.agents.SetTool(t.Context(), alice, bot.ID, catalog.AnyRevision, tool, true); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(all, names(as(alice, "bot"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// skill-catalog lists what the caller may call, its own tools included, narrowed by a text.
func TestTheSkillCatalog(t *testing.T) {
	a := newAgency(t, false)
	a.create(t, bob, 0, draft("his"))
	list := func(who a2e.Caller, arguments string) (names []string) {
		data, fault := a.use(t, who, catalogTool, arguments)
		if fault != "" {
			t.Fatal(fault)
		}
		for _, s := range data["skills"].([]any) {
			names = append(names, s.(map[string]any)["name"].(string))
		}
		return names
	}
	if diff := cmp.Diff([]string{"manage_skill", "skill", "time-arithmetic", "word-count"}, list(alice, `{}`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"his"}, list(bob, `{"query":"HIS"}`)[:1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	bot := a.agent(t, alice, 0, "bot")
	a.allow(t, alice, bot.ID, "word-count")
	if diff := cmp.Diff([]string{"skill", "word-count"}, list(as(alice, "bot"), `{}`)); diff != "" {
		t.Errorf("an agent (-want +got):\n%s", diff)
	}
}

// The same list holds where skills are discovered and called: the shelf says what an agent may use.
func TestTheShelfHasTheGate(t *testing.T) {
	a := newAgency(t, false)
	bot := a.agent(t, alice, 0, "bot")
	a.allow(t, alice, bot.ID, "word-count")
	v := a.see(t, as(alice, "bot"))
	for name, want := range map[string]bool{"word-count": true, "time-arithmetic": false} {
		if s, _ := v.Find(name); s == nil || v.Allows(s) != want {
			t.Errorf("%s: %+v", name, s)
		}
	}
	all, err := a.Callable(t.Context(), as(alice, "bot"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Definition.Name)
	}
	if diff := cmp.Diff([]string{"skill", "skill-catalog", "word-count"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What an agent may not use it does not read, on whatever way; people read all that they see.
func TestAllowlistsHoldWhereSkillsAreRead(t *testing.T) {
	a := newAgency(t, false)
	a.create(t, alice, 0, draft("notes"))
	a.create(t, alice, 0, draft("more-notes"))
	bot := a.agent(t, alice, 0, "bot")
	a.allow(t, alice, bot.ID, "word-count", "notes")
	for who, want := range map[string]string{"": "more-notes notes time-arithmetic word-count", "bot": "notes word-count"} {
		caller := as(alice, who)
		var got []string
		all, err := a.Skills(t.Context(), caller, 0)
		for _, s := range all {
			got = append(got, s.Name)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q lists %v, %v", who, got, err)
		}
		mine, err := a.Custom.List(t.Context(), caller, 0)
		if err != nil || len(mine) != strings.Count(want, "notes") {
			t.Errorf("%q lists %d custom skills, %v", who, len(mine), err)
		}
		for _, name := range []string{"time-arithmetic", "word-count", "notes", "more-notes"} {
			sees := slices.Contains(strings.Fields(want), name)
			gone, noFile := catalog.SkillNotFound, catalog.SkillFileNotFound
			if sees {
				gone, noFile = "", ""
			}
			refused(t, second(a.Skill(t.Context(), caller, name, 0)), gone)
			refused(t, second(a.File(t.Context(), caller, name, "SKILL.md", 0)), noFile)
			if strings.HasSuffix(name, "notes") {
				refused(t, second(a.Custom.Show(t.Context(), caller, 0, name)), gone)
				refused(t, second(a.Custom.Read(t.Context(), caller, 0, name, "SKILL.md")), gone)
			}
		}
	}
}

// plugin is one of somebody else's.
type plugin []a2e.Definition

func (p plugin) ListSkills(context.Context, a2e.Caller) ([]a2e.Definition, error) { return p, nil }
func (plugin) ExecuteSkill(context.Context, a2e.Caller, a2e.Execution) (*a2e.Result, error) {
	return nil, nil
}

// What plugins serve can be called, unless a skill of the shelf has its name, or its plugin says that it is not there; it changes
// something unless its plugin says that it does not.
func TestWhatPluginsServeCanBeCalled(t *testing.T) {
	a := newAgency(t, false)
	a.Plugins = append(a.Plugins, plugin{
		{Name: "greet"}, {Name: "look", Status: a2e.StatusPublished, Metadata: map[string]any{ReadOnly: true}},
		{Name: "word-count"}, {Name: "hidden", Status: a2e.StatusBlocked},
	})
	all, err := a.Callable(t.Context(), alice)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		got = append(got, fmt.Sprintf("%s %t %t %s", e.Definition.Name, e.Hosted, e.ReadOnly, e.Definition.Status))
	}
	want := []string{
		"greet true false Published", "look true true Published", "manage_skill true false Published", "skill true true Published",
		"skill-catalog true true Published", "time-arithmetic false true Published", "word-count false false Published",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
