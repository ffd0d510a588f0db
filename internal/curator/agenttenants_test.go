package curator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// Whatever two tenants, a group and their agents do with agents, allowlists and approvals: what one of them can't see has no
// effect on it, is in none of its answers, and is answered like what there never was.
func TestAgentsOfTenantsAreApart(t *testing.T) {
	a := newAgency(t, true)
	group := a.group(t, admin)
	principals := []int64{0, a.number(t, alice), a.number(t, bob), group, 4711}
	callers := []a2e.Caller{alice, bob, member, admin, as(alice, "bot"), as(bob, "bot"), as(member, "bot"), as(admin, "helper")}
	agents := []int64{4711} // ids, of everybody
	approvals := []string{"apr-0000000000000000"}
	sees := func(who a2e.Caller, principal int64) bool {
		o, err := a.store.Principal(t.Context(), principal)
		return err == nil && role(who, o) != ""
	}
	controls := func(who a2e.Caller, principal int64) bool {
		o, err := a.store.Principal(t.Context(), principal)
		return err == nil && who.Agent == "" && writes(role(who, o))
	}
	rapid.Check(t, func(r *rapid.T) {
		ctx := t.Context()
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			who := rapid.SampledFrom(callers).Draw(r, "who")
			id, principal := rapid.SampledFrom(agents).Draw(r, "agent"), rapid.SampledFrom(principals).Draw(r, "principal")
			approval := rapid.SampledFrom(approvals).Draw(r, "approval")
			slug := rapid.SampledFrom([]string{"word-count", "time-arithmetic"}).Draw(r, "slug")
			whose := int64(-1)
			if kept, err := a.store.Agent(ctx, id); err == nil {
				whose = kept.Principal
			}
			var err error
			wrote := false
			switch rapid.IntRange(0, 9).Draw(r, "act") {
			case 0:
				var made *catalog.Agent
				if made, err = a.agents.Create(ctx, who, principal, rapid.SampledFrom([]string{"bot", "helper"}).Draw(r, "name")); err == nil {
					agents, whose, wrote = append(agents, made.ID), made.Principal, true
				} else {
					whose = -2 // it was about a principal and no agent
				}
			case 1:
				err, wrote = second(a.agents.SkillOn(ctx, who, id, catalog.AnyRevision, slug)), true
			case 2:
				err, wrote = second(a.agents.SkillOff(ctx, who, id, catalog.AnyRevision, slug)), true
			case 3:
				err, wrote = second(a.agents.SetTool(ctx, who, id, catalog.AnyRevision, "library", true)), true
			case 4:
				err, wrote = second(a.agents.SetOverride(ctx, who, id, 0, "skill", catalog.AnyRevision, &[]string{slug})), true
				if id == 0 {
					continue
				}
			case 5:
				err = second(a.agents.Show(ctx, who, id))
			case 6:
				err, whose, wrote = second(a.agents.SetOverride(ctx, who, 0, principal, "skill", catalog.AnyRevision, &[]string{slug})), principal, true
				if principal == 0 {
					continue // the caller's own
				}
			case 7:
				arguments := fmt.Sprintf(`{"action":"create","name":"n%d","description":"Of %s."}`, rapid.IntRange(0, 99).Draw(r, "n"), who.Principal)
				res, failed := a.hosted.ExecuteSkill(ctx, who, execution(manageTool, arguments))
				if failed == nil {
					approvals = append(approvals, res.Data.(map[string]any)["approval"].(map[string]any)["id"].(string))
				}
				continue
			case 8:
				if rapid.Bool().Draw(r, "yes") {
					err = second(a.approvals.Approve(ctx, who, approval))
				} else {
					err = second(a.approvals.Deny(ctx, who, approval, ""))
				}
				kept, none := a.store.Approval(ctx, approval)
				switch {
				case (none != nil || !sees(who, kept.Principal)) && codeOf(err) != catalog.ApprovalNotFound:
					r.Fatalf("%+v decides about %s: %v", who, approval, err)
				case err == nil && !controls(who, kept.Principal):
					r.Fatalf("%+v decided about %+v", who, kept)
				}
				continue
			case 9:
				clean(r, a, who)
				continue
			}
			switch {
			case whose == -2:
				if code := codeOf(err); code != catalog.Forbidden && code != catalog.AgentTaken {
					r.Fatalf("%+v makes an agent of %d: %v", who, principal, err)
				}
			case (whose == -1 || !sees(who, whose)) && codeOf(err) != catalog.AgentNotFound:
				r.Fatalf("%+v reaches what it can't see: %v", who, err)
			case err == nil && wrote && !controls(who, whose):
				r.Fatalf("%+v wrote what principal %d has", who, whose)
			case sees(who, whose) && wrote && !controls(who, whose) && codeOf(err) != catalog.Forbidden:
				r.Fatalf("%+v is told %v", who, err)
			}
		}
	})
}

// clean makes sure that a caller's answers are its own.
func clean(r *rapid.T, a *agency, who a2e.Caller) {
	agents, err := a.agents.List(r.Context(), who)
	if err != nil {
		r.Fatal(err)
	}
	asked, err := a.approvals.List(r.Context(), who, "")
	if err != nil {
		r.Fatal(err)
	}
	for _, one := range agents {
		if o, err := a.store.Principal(r.Context(), one.Principal); err != nil || role(who, o) == "" {
			r.Fatalf("%+v sees %+v", who, one)
		}
	}
	for _, one := range asked {
		if o, err := a.store.Principal(r.Context(), one.Principal); err != nil || role(who, o) == "" || who.Agent != "" && one.Agent != who.Agent {
			r.Fatalf("%+v sees %+v", who, one)
		}
	}
	raw, err := json.Marshal(asked)
	if err != nil {
		r.Fatal(err)
	}
	for _, other := range []string{"alice", "bob"} {
		if other != who.Principal && strings.Contains(string(raw), "Of "+other+".") {
			r.Fatalf("%+v reads what %s asked", who, other)
		}
	}
}

func execution(name, arguments string) a2e.Execution {
	var args map[string]any
	_ = json.Unmarshal([]byte(arguments), &args) // a constant of the test's
	return a2e.Execution{Name: name, Arguments: args}
}
