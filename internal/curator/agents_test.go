package curator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

// agency is a rig with agents, approvals and the catalog's own skills, as a host wires them.
type agency struct {
	*rig
	agents    *Agents
	approvals *Approvals
	hosted    *Hosted
}

// hostTools are two tools that share a skill, and one that recommends nothing.
func hostTools() []catalog.ToolInfo {
	return []catalog.ToolInfo{
		{Name: "library", Recommends: []string{"media-library", "shared"}}, {Name: "player", Recommends: []string{"shared", "Playing "}}, {Name: "plain"},
	}
}

func newAgency(t testing.TB, deletions bool) *agency {
	t.Helper()
	return staffed(newRig(t), deletions)
}

func staffed(r *rig, deletions bool) *agency {
	a := &agency{rig: r, agents: NewAgents(r.store, hostTools)}
	a.approvals = NewApprovals(ApprovalOptions{Store: r.store, Custom: r.Custom, Delete: deletions})
	a.hosted = NewHosted(HostedOptions{Reader: r.Curator, Custom: r.Custom, Agents: a.agents, Approvals: a.approvals})
	a.Gate, a.Plugins = a.agents, []a2e.Plugin{a.hosted}
	return a
}

// as is a caller that speaks as an agent.
func as(who a2e.Caller, agent string) a2e.Caller {
	who.Agent = agent
	return who
}

func (a *agency) agent(t testing.TB, who a2e.Caller, principal int64, name string) *catalog.Agent {
	t.Helper()
	made, err := a.agents.Create(t.Context(), who, principal, name)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (a *agency) allow(t testing.TB, who a2e.Caller, id int64, names ...string) {
	t.Helper()
	if _, err := a.agents.SetTool(t.Context(), who, id, catalog.AnyRevision, catalog.SkillToolName, true); err != nil {
		t.Fatal(err)
	}
	if _, err := a.agents.SetOverride(t.Context(), who, id, 0, catalog.SkillToolName, catalog.AnyRevision, &names); err != nil {
		t.Fatal(err)
	}
}

// allowed is what an agent's own list has; "-" where it has none.
func (a *agency) allowed(t testing.TB, who a2e.Caller, id int64) string {
	t.Helper()
	o, err := a.agents.Override(t.Context(), who, id, 0, catalog.SkillToolName)
	if err != nil {
		t.Fatal(err)
	}
	if o.Source != fromAgent {
		return "-"
	}
	return strings.Join(*o.Allowed, " ")
}

func on(a *catalog.Agent) (names string) {
	for _, t := range a.Tools {
		if t.Enabled {
			names += t.Tool + " "
		}
	}
	return strings.TrimSpace(names)
}

// Per-skill ON: the skill tool is switched on, and that one slug is written into the agent's allowlist.
func TestPerSkillOn(t *testing.T) {
	a := newAgency(t, false)
	bot := a.agent(t, alice, 0, "bot")
	if got := on(bot); got != "" {
		t.Errorf("a new agent has %s on", got)
	}
	got, err := a.agents.SkillOn(t.Context(), alice, bot.ID, bot.Revision, " Media-Library ")
	if err != nil || on(got) != "skill" || a.allowed(t, alice, bot.ID) != "media-library" {
		t.Errorf("%s, %s, %v", on(got), a.allowed(t, alice, bot.ID), err)
	}
	again, err := a.agents.SkillOn(t.Context(), alice, bot.ID, got.Revision, "media-library")
	if err != nil || again.Revision != got.Revision {
		t.Errorf("twice: %+v, %v", again, err)
	}
	if _, err := a.agents.SkillOn(t.Context(), alice, bot.ID, bot.Revision, "x"); codeOf(err) != catalog.Conflict {
		t.Errorf("an old revision: %v", err)
	}
	refused(t, second(a.agents.SkillOn(t.Context(), alice, bot.ID, catalog.AnyRevision, " ")), catalog.ValidationError)
}

func second[T any](_ T, err error) error { return err }

// Per-skill OFF: that one slug goes, the others stay, and the skill tool stays on, with an empty list too.
func TestPerSkillOff(t *testing.T) {
	a := newAgency(t, false)
	bot := a.agent(t, alice, 0, "bot")
	a.allow(t, alice, bot.ID, "one", "two")
	got, err := a.agents.SkillOff(t.Context(), alice, bot.ID, catalog.AnyRevision, "ONE")
	if err != nil || a.allowed(t, alice, bot.ID) != "two" {
		t.Errorf("%s, %v", a.allowed(t, alice, bot.ID), err)
	}
	if got, err = a.agents.SkillOff(t.Context(), alice, bot.ID, got.Revision, "two"); err != nil || on(got) != "skill" || a.allowed(t, alice, bot.ID) != "" {
		t.Errorf("the last: %s, %q, %v", on(got), a.allowed(t, alice, bot.ID), err)
	}
	if last, err := a.agents.SkillOff(t.Context(), alice, bot.ID, got.Revision, "none"); err != nil || last.Revision != got.Revision {
		t.Errorf("one that is not there: %+v, %v", last, err)
	}
}

// Parent-tool disable: what only this tool recommends goes, what another one that is on recommends too stays until that goes
// off, and the skill tool stays on.
func TestParentToolOff(t *testing.T) {
	a := newAgency(t, false)
	bot := a.agent(t, alice, 0, "bot")
	a.allow(t, alice, bot.ID, "media-library", "shared", "playing", "own")
	set := func(tool string, on bool) *catalog.Agent {
		t.Helper()
		got, err := a.agents.SetTool(t.Context(), alice, bot.ID, catalog.AnyRevision, tool, on)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	set("library", true)
	set("player", true)
	if got := set("library", false); on(got) != "skill player" || a.allowed(t, alice, bot.ID) != "shared playing own" {
		t.Errorf("%s: %s", on(got), a.allowed(t, alice, bot.ID))
	}
	set("plain", true)
	if set("plain", false); a.allowed(t, alice, bot.ID) != "shared playing own" {
		t.Errorf("one that recommends nothing: %s", a.allowed(t, alice, bot.ID))
	}
	if got := set("player", false); on(got) != "skill" || a.allowed(t, alice, bot.ID) != "own" {
		t.Errorf("the last that recommends it: %s: %s", on(got), a.allowed(t, alice, bot.ID))
	}
	refused(t, second(a.agents.SetTool(t.Context(), alice, bot.ID, catalog.AnyRevision, "nothing", true)), catalog.ToolNotFound)
}

// An agent has its own list, else its principal's default, else nothing; and nothing while its skill tool is off. Who speaks as
// no agent that is known has no list at all.
func TestWhichAllowlistApplies(t *testing.T) {
	a := newAgency(t, false)
	bot := a.agent(t, alice, 0, "bot")
	whose := a.number(t, alice)
	gate := func(who a2e.Caller) string {
		allows, err := a.agents.Gate(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		if allows == nil {
			return "any"
		}
		got := ""
		for _, name := range []string{"word-count", "time-arithmetic"} {
			if allows(name) {
				got += name + " "
			}
		}
		return got
	}
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, ""},
		{func() error {
			return second(a.agents.SetOverride(t.Context(), alice, 0, whose, "skill", catalog.AnyRevision, &[]string{"word-count"}))
		}, ""},
		{func() error {
			return second(a.agents.SetTool(t.Context(), alice, bot.ID, catalog.AnyRevision, "skill", true))
		}, "word-count "},
		{func() error {
			return second(a.agents.SkillOn(t.Context(), alice, bot.ID, catalog.AnyRevision, "time-arithmetic"))
		}, "word-count time-arithmetic "},
		{func() error {
			return second(a.agents.SetOverride(t.Context(), alice, 0, whose, "skill", catalog.AnyRevision, &[]string{}))
		}, "word-count time-arithmetic "}, // its own by now
		{func() error {
			return second(a.agents.SetOverride(t.Context(), alice, bot.ID, 0, "skill", catalog.AnyRevision, nil))
		}, ""},
		{func() error {
			return second(a.agents.SetOverride(t.Context(), alice, bot.ID, 0, "skill", catalog.AnyRevision, &[]string{" Time-Arithmetic"}))
		}, "time-arithmetic "},
		{func() error {
			return second(a.agents.SetTool(t.Context(), alice, bot.ID, catalog.AnyRevision, "skill", false))
		}, ""},
	}
	for i, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(i, err)
		}
		if got := gate(as(alice, "bot")); got != s.want {
			t.Errorf("step %d: %q, want %q", i, got, s.want)
		}
	}
	for name, who := range map[string]a2e.Caller{"no agent": alice, "an unknown one": as(alice, "other"), "another's of that name": as(bob, "bot")} {
		if got := gate(who); got != "any" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The agent of a name is the caller's own, or else its group's: nobody outside can put a list on it.
func TestWhoseAgentSpeaks(t *testing.T) {
	a := newAgency(t, false)
	group := a.group(t, admin)
	theirs := a.agent(t, admin, group, "bot")
	a.allow(t, admin, theirs.ID, "word-count")
	allows := func(who a2e.Caller, name string) bool {
		gate, err := a.agents.Gate(t.Context(), as(who, "bot"))
		if err != nil {
			t.Fatal(err)
		}
		return gate == nil || gate(name)
	}
	if !allows(member, "word-count") || allows(member, "time-arithmetic") || !allows(alice, "time-arithmetic") {
		t.Error("the group's list does not hold for its members alone")
	}
	own := a.agent(t, member, 0, "bot")
	a.allow(t, member, own.ID, "time-arithmetic")
	if allows(member, "word-count") || !allows(member, "time-arithmetic") || allows(admin, "time-arithmetic") {
		t.Error("a member's own agent does not come first for it alone")
	}
}

// Who sees a principal sees its agents, who controls it changes them, and for others there are none. Operators may all.
func TestWhoMayChangeAgents(t *testing.T) {
	a := newAgency(t, false)
	group := a.group(t, admin)
	bot := a.agent(t, owner, group, "bot")
	for _, c := range []struct {
		name  string
		who   a2e.Caller
		read  catalog.Code
		write catalog.Code
	}{
		{"owner", owner, "", ""}, {"admin", admin, "", ""}, {"operator", boss, "", ""}, {"member", member, "", catalog.Forbidden},
		{"stranger", bob, catalog.AgentNotFound, catalog.AgentNotFound}, {"the agent itself", as(owner, "bot"), "", catalog.Forbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			refused(t, second(a.agents.Show(ctx, c.who, bot.ID)), c.read)
			refused(t, second(a.agents.ID(ctx, c.who, "bot")), c.read)
			refused(t, second(a.agents.Override(ctx, c.who, bot.ID, 0, "skill")), c.read)
			refused(t, second(a.agents.Override(ctx, c.who, 0, group, "skill")), c.read)
			all, err := a.agents.List(ctx, c.who)
			if err != nil || len(all) > 0 != (c.read == "") {
				t.Errorf("lists %v, %v", all, err)
			}
			refused(t, second(a.agents.SkillOn(ctx, c.who, bot.ID, catalog.AnyRevision, "x")), c.write)
			refused(t, second(a.agents.SkillOff(ctx, c.who, bot.ID, catalog.AnyRevision, "x")), c.write)
			refused(t, second(a.agents.SetTool(ctx, c.who, bot.ID, catalog.AnyRevision, "skill", true)), c.write)
			refused(t, second(a.agents.SetOverride(ctx, c.who, bot.ID, 0, "skill", catalog.AnyRevision, nil)), c.write)
			refused(t, second(a.agents.SetOverride(ctx, c.who, 0, group, "skill", catalog.AnyRevision, nil)), c.write)
			if c.write != "" {
				refused(t, a.agents.Delete(ctx, c.who, bot.ID, catalog.AnyRevision), c.write)
				refused(t, second(a.agents.Create(ctx, c.who, group, "new")), catalog.Forbidden)
			}
		})
	}
	refused(t, second(a.agents.Create(t.Context(), bob, 4711, "new")), catalog.Forbidden) // like one that is not there
	if err := a.agents.Delete(t.Context(), admin, bot.ID, bot.Revision-1); codeOf(err) != catalog.Conflict {
		t.Errorf("another revision: %v", err)
	}
	if err := a.agents.Delete(t.Context(), admin, bot.ID, catalog.AnyRevision); err != nil {
		t.Error(err)
	}
	refused(t, second(a.agents.Show(t.Context(), owner, bot.ID)), catalog.AgentNotFound)
}

func TestNamesOfAgents(t *testing.T) {
	a := newAgency(t, false)
	a.agent(t, alice, 0, "bot")
	a.agent(t, bob, 0, "bot") // another principal's
	refused(t, second(a.agents.Create(t.Context(), alice, 0, " bot ")), catalog.AgentTaken)
	for _, bad := range []string{"", "123", "a b", "-x", "ü", strings.Repeat("x", 129)} {
		refused(t, second(a.agents.Create(t.Context(), alice, 0, bad)), catalog.ValidationError)
	}
	refused(t, second(a.agents.Create(t.Context(), alice, -1, "x")), catalog.ValidationError)
}

func TestHowManyAgents(t *testing.T) {
	a := newAgency(t, false)
	for i := range mostAgents {
		a.agent(t, alice, 0, "bot"+strings.Repeat("x", i))
	}
	refused(t, second(a.agents.Create(t.Context(), alice, 0, "more")), catalog.ValidationError)
}

// Settings say where they come from, and are no other tool's.
func TestOverridesSayWhereTheyComeFrom(t *testing.T) {
	a := newAgency(t, false)
	ctx := t.Context()
	bot := a.agent(t, alice, 0, "bot")
	source := func(id int64) string {
		o, err := a.agents.Override(ctx, alice, id, 0, "skill")
		if err != nil {
			t.Fatal(err)
		}
		list := "nothing"
		if o.Allowed != nil {
			list = strings.Join(*o.Allowed, " ")
		}
		return o.Source + ": " + list
	}
	if got := source(bot.ID) + ", " + source(0); got != "default: nothing, default: nothing" {
		t.Error(got)
	}
	first, err := a.agents.SetOverride(ctx, alice, 0, 0, "skill", 0, &[]string{"a", "A", "b"})
	if err != nil || first.Source != fromPrincipal {
		t.Fatal(first, err)
	}
	refused(t, second(a.agents.SetOverride(ctx, alice, 0, 0, "skill", 0, nil)), catalog.Conflict)
	if got := source(bot.ID) + ", " + source(0); got != "principal: a b, principal: a b" {
		t.Error(got)
	}
	a.allow(t, alice, bot.ID, "c")
	if got := source(bot.ID); got != "agent: c" {
		t.Error(got)
	}
	for _, bad := range [][]string{{""}, {strings.Repeat("x", 200)}, {"a\x00"}} {
		refused(t, second(a.agents.SetOverride(ctx, alice, bot.ID, 0, "skill", catalog.AnyRevision, &bad)), catalog.ValidationError)
	}
	refused(t, second(a.agents.SetOverride(ctx, alice, bot.ID, 0, "library", catalog.AnyRevision, &[]string{"a"})), catalog.ValidationError)
	refused(t, second(a.agents.SetOverride(ctx, alice, bot.ID, 0, "nothing", catalog.AnyRevision, nil)), catalog.ToolNotFound)
	refused(t, second(a.agents.Override(ctx, alice, bot.ID, 0, "nothing")), catalog.ToolNotFound)
}

// A list is as long as one may be and no longer, whoever adds to it at the same time: one that is longer could not be read.
func TestFlowsKeepTheBound(t *testing.T) {
	a := newAgency(t, false)
	bot := a.agent(t, alice, 0, "bot")
	full := make([]string, catalog.MaxAllowed-1)
	for i := range full {
		full[i] = fmt.Sprint("s", i)
	}
	a.allow(t, alice, bot.ID, full...)
	var all sync.WaitGroup
	var added atomic.Int64
	for i := range 8 {
		all.Go(func() {
			_, err := a.agents.SkillOn(context.Background(), alice, bot.ID, catalog.AnyRevision, fmt.Sprint("more", i))
			if err == nil {
				added.Add(1)
			} else if !errors.Is(err, &catalog.Error{Code: catalog.ValidationError}) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := len(strings.Fields(a.allowed(t, alice, bot.ID))); got != catalog.MaxAllowed || added.Load() != 1 {
		t.Errorf("%d names, %d were added", got, added.Load())
	}
	if _, err := a.agents.SkillOn(t.Context(), alice, bot.ID, catalog.AnyRevision, "s0"); err != nil {
		t.Errorf("one that is there already: %v", err)
	}
}

// Concurrent flows lose nothing, and what another process writes is seen.
func TestFlowsAtTheSameTime(t *testing.T) {
	a := newAgency(t, false)
	other := staffed(a.again(t), false)
	bot := a.agent(t, alice, 0, "bot")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			who := []*agency{a, other}[i%2]
			if _, err := who.agents.SkillOn(context.Background(), alice, bot.ID, catalog.AnyRevision, "s"+strings.Repeat("x", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, p := range []*agency{a, other} {
		if got := len(strings.Fields(p.allowed(t, alice, bot.ID))); got != 20 {
			t.Errorf("%d names are left", got)
		}
	}
	before := a.Version()
	if _, err := other.agents.SetTool(t.Context(), alice, bot.ID, catalog.AnyRevision, "skill", false); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(30 * time.Second); a.Version() == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the version stays")
		}
	}
	if gate, err := a.agents.Gate(t.Context(), as(alice, "bot")); err != nil || gate == nil || gate("s") {
		t.Errorf("the list of a tool that another process switched off still holds: %v", err)
	}
}

// An agent to which tokens are bound can't be deleted.
func TestAnAgentInUseIsKept(t *testing.T) {
	a := newAgency(t, false)
	bot := a.agent(t, alice, 0, "bot")
	tok, secret, err := auth.Issue(auth.Token{Principal: "alice", Agent: "bot", Scopes: []auth.Scope{auth.Calls}}, time.Now())
	if err == nil {
		err = a.store.AddToken(t.Context(), tok, secret.Digest())
	}
	if err != nil {
		t.Fatal(err)
	}
	refused(t, a.agents.Delete(t.Context(), alice, bot.ID, catalog.AnyRevision), catalog.AgentInUse)
	if err := a.store.RevokeToken(t.Context(), tok.ID); err != nil {
		t.Fatal(err)
	}
	refused(t, a.agents.Delete(t.Context(), alice, bot.ID, catalog.AnyRevision), "")
}

// The end of a custom skill names the agents that it touched, and they lose nothing else.
func TestDeletingASkillTouchesAgents(t *testing.T) {
	a := newAgency(t, false)
	a.create(t, alice, 0, draft("notes"))
	bot := a.agent(t, alice, 0, "bot")
	a.allow(t, alice, bot.ID, "notes", "word-count")
	rows, err := a.Custom.Allowlist(t.Context(), alice, 0, "notes")
	if err != nil || len(rows) != 1 || *rows[0].Name != "bot" {
		t.Errorf("%v, %v", rows, err)
	}
	gone, err := a.Custom.Delete(t.Context(), alice, 0, "notes", catalog.AnyRevision)
	if err != nil || len(gone.Agents) != 1 || gone.Agents[0].ID != bot.ID || gone.PrincipalDefault {
		t.Errorf("%+v, %v", gone, err)
	}
	if got := a.allowed(t, alice, bot.ID); got != "word-count" {
		t.Errorf("left: %s", got)
	}
}

// The tools are the catalog's own and then the host's, with what they recommend in the order of declaration.
func TestToolsAndWhatTheyRecommend(t *testing.T) {
	a := newAgency(t, false)
	all, err := a.agents.Tools(t.Context(), alice)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range all {
		got = append(got, tool.Name+": "+strings.Join(tool.Recommends, ","))
		if tool.InputSchema != nil && !json.Valid(tool.InputSchema) {
			t.Errorf("%s has a schema that is no JSON", tool.Name)
		}
	}
	want := []string{"skill: ", "manage_skill: ", "library: media-library,shared", "player: shared,Playing ", "plain: "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
