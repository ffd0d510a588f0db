package curator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// agentOf makes an agent whose skill tool is on and has an allowlist, unless that is nil.
func agentOf(t *testing.T, a *Agents, who a2e.Caller, principal int64, name string, allowed []string) int64 {
	t.Helper()
	made, err := a.Create(t.Context(), who, principal, name)
	if err == nil {
		_, err = a.SetTool(t.Context(), who, made.ID, catalog.AnyRevision, catalog.SkillToolName, true)
	}
	if err == nil && allowed != nil {
		_, err = a.SetOverride(t.Context(), who, made.ID, 0, catalog.SkillToolName, catalog.AnyRevision, &allowed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// Deleting a skill takes its name off every allowlist of its principal, tells whose these were, and leaves all others.
func TestDeletingASkillScrubsItsPrincipalsAllowlists(t *testing.T) {
	r := newRig(t)
	agents := NewAgents(r.store, nil)
	r.Gate = agents
	team := r.group(t, admin)
	r.create(t, admin, 0, draft("notes"))
	r.create(t, admin, team, draft("notes"))
	r.create(t, admin, 0, draft("other"))
	uses := agentOf(t, agents, admin, 0, "uses", []string{" Notes", "other", "word-count"})
	agentOf(t, agents, admin, 0, "not", []string{"other"})
	agentOf(t, agents, admin, 0, "unset", nil)
	theirs := agentOf(t, agents, admin, team, "theirs", []string{"notes"})
	own := r.number(t, admin)
	if _, err := agents.SetOverride(t.Context(), admin, 0, own, catalog.SkillToolName, catalog.AnyRevision, &[]string{"notes", "other"}); err != nil {
		t.Fatal(err)
	}
	rows := []catalog.AllowlistRow{{ID: uses, Name: ptr("uses"), Scope: "agent"}, {Scope: "principal"}}
	got, err := r.Allowlist(t.Context(), admin, 0, "notes")
	if d := cmp.Diff(rows, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	speaker := admin
	speaker.Agent = "uses"
	v := r.see(t, speaker)
	if s, _ := v.Find("notes"); s == nil || !v.Allows(s) {
		t.Fatal("the agent may not use the skill")
	}

	gone, err := r.Delete(t.Context(), admin, 0, "notes", catalog.AnyRevision)
	if d := cmp.Diff(&catalog.Deleted{Name: "notes", Agents: rows[:1], PrincipalDefault: true}, gone); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	for id, want := range map[int64][]string{uses: {"other", "word-count"}, theirs: {"notes"}} {
		o, err := agents.Override(t.Context(), admin, id, 0, catalog.SkillToolName)
		if err != nil || o.Allowed == nil || !cmp.Equal(*o.Allowed, want) {
			t.Errorf("agent %d: %+v, %v", id, o, err)
		}
	}
	o, err := agents.Override(t.Context(), admin, 0, own, catalog.SkillToolName)
	if err != nil || o.Allowed == nil || !cmp.Equal(*o.Allowed, []string{"other"}) {
		t.Errorf("default: %+v, %v", o, err)
	}
	// A new skill of the name is no agent's before somebody allows it again.
	r.create(t, admin, 0, draft("notes"))
	gate, err := agents.Gate(t.Context(), speaker)
	if err != nil || gate("notes") || !gate("other") {
		t.Errorf("after the name is used again: %v", err)
	}
	if gone, err := r.Delete(t.Context(), admin, 0, "notes", catalog.AnyRevision); err != nil || len(gone.Agents) != 0 || gone.PrincipalDefault {
		t.Errorf("%+v, %v", gone, err)
	}
}
