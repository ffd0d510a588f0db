package curator

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// Reading needs to be the principal or of its group, writing to be the principal or an admin or owner of the group. That a
// caller is an operator changes nothing. What can't be read isn't there; what can't be written is forbidden, there or not.
func TestVisibility(t *testing.T) {
	r := newRig(t)
	team := r.group(t, owner)
	personal := r.number(t, alice)
	for principal, who := range map[int64]a2e.Caller{team: owner, personal: alice} {
		r.create(t, who, principal, withFiles(draft("notes"), "a.md", "A"))
	}
	groupNamedAlice := a2e.Caller{Principal: "eve", Groups: map[string]string{"alice": "owner"}}
	userNamedTeam := a2e.Caller{Principal: "team"}
	for name, tt := range map[string]struct {
		who         a2e.Caller
		principal   int64
		read, write bool
	}{
		"oneself":                    {alice, personal, true, true},
		"a stranger":                 {bob, personal, false, false},
		"an operator":                {boss, personal, false, false},
		"whoever, without auth":      {nobody, personal, false, false},
		"a group of the name":        {groupNamedAlice, personal, false, false},
		"a member":                   {member, team, true, false},
		"an admin":                   {admin, team, true, true},
		"an owner":                   {owner, team, true, true},
		"a stranger to the group":    {alice, team, false, false},
		"an operator and the group":  {boss, team, false, false},
		"a user of the group's name": {userNamedTeam, team, false, false},
		"of another group":           {groupNamedAlice, team, false, false},
		"a role that nobody knows":   {a2e.Caller{Principal: "x", Groups: map[string]string{"team": "guest"}}, team, true, false},
		"a principal that is none":   {owner, 1 << 40, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r.matrixReads(t, tt.who, tt.principal, tt.read)
			r.matrixWrites(t, tt.who, tt.principal, tt.write)
		})
	}
}

func (r *rig) matrixReads(t *testing.T, who a2e.Caller, principal int64, allowed bool) {
	t.Helper()
	want, wantFile, wantSkill, wantNarrow := catalog.Code(""), catalog.Code(""), catalog.Code(""), catalog.Code("")
	if !allowed {
		want, wantFile, wantSkill, wantNarrow = catalog.SkillNotFound, catalog.SkillNotFound, catalog.SkillNotFound, catalog.SkillFileNotFound
	}
	all, err := r.List(t.Context(), who, principal)
	if err != nil || (len(all) == 1) != allowed || all == nil {
		t.Errorf("list: %v, %v", all, err)
	}
	_, err = r.Show(t.Context(), who, principal, "notes")
	refused(t, err, want)
	_, err = r.Read(t.Context(), who, principal, "notes", "a.md")
	refused(t, err, wantFile)
	_, err = r.Allowlist(t.Context(), who, principal, "notes")
	refused(t, err, want)
	_, err = r.Skill(t.Context(), who, "notes", principal)
	refused(t, err, wantSkill)
	_, err = r.File(t.Context(), who, "notes", "a.md", principal)
	refused(t, err, wantNarrow)
	listed, err := r.Skills(t.Context(), who, principal)
	n := 2
	if allowed {
		n = 3
	}
	if err != nil || len(listed) != n {
		t.Errorf("skills: %+v, %v", listed, err)
	}
	// The same caller gets the same words of what is there and what is not.
	if !allowed {
		for _, name := range []string{"notes", "nope"} {
			_, one := r.Show(t.Context(), who, principal, name)
			if got, want := fmt.Sprint(one), "SKILL_NOT_FOUND: Skill '"+name+"' was not found."; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}

func (r *rig) matrixWrites(t *testing.T, who a2e.Caller, principal int64, allowed bool) {
	t.Helper()
	want, none := catalog.Code(""), catalog.SkillNotFound
	if !allowed {
		want, none = catalog.Forbidden, catalog.Forbidden
	}
	_, err := r.Create(t.Context(), who, principal, draft("fresh"))
	refused(t, err, want)
	_, err = r.Update(t.Context(), who, principal, "fresh", catalog.AnyRevision, catalog.Draft{Body: ptr("b")})
	refused(t, err, want)
	_, err = r.Restore(t.Context(), who, principal, "fresh", catalog.AnyRevision)
	refused(t, err, want)
	_, err = r.Delete(t.Context(), who, principal, "fresh", catalog.AnyRevision)
	refused(t, err, want)
	_, err = r.Update(t.Context(), who, principal, "nope", catalog.AnyRevision, catalog.Draft{Body: ptr("b")})
	refused(t, err, none)
	_, err = r.Delete(t.Context(), who, principal, "nope", catalog.AnyRevision)
	refused(t, err, none)
	_, err = r.Delete(t.Context(), who, principal, "notes", 1<<40)
	if allowed {
		none = catalog.Conflict
	}
	refused(t, err, none)
}

// An own skill and a foreign file is no file; a foreign skill is no skill.
func TestAForeignFileNeverLeaks(t *testing.T) {
	r := newRig(t)
	r.create(t, alice, 0, withFiles(draft("hers"), "secret.md", "S"))
	r.create(t, bob, 0, withFiles(draft("his"), "open.md", "O"))
	_, err := r.Read(t.Context(), bob, 0, "his", "secret.md")
	refused(t, err, catalog.FileNotFound)
	_, err = r.Read(t.Context(), bob, 0, "hers", "secret.md")
	refused(t, err, catalog.SkillNotFound)
	for _, at := range [][2]string{{"his", "secret.md"}, {"hers", "secret.md"}, {"hers", "SKILL.md"}, {"none", "SKILL.md"}} {
		_, err = r.File(t.Context(), bob, at[0], at[1], 0)
		refused(t, err, catalog.SkillFileNotFound)
	}
}

func TestPrincipalsOfACaller(t *testing.T) {
	r := newRig(t)
	who := a2e.Caller{Principal: "zoe", Groups: map[string]string{"b": "member", "a": "admin", "zoe": "owner"}}
	got, err := r.Principals(t.Context(), who)
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	seen := map[int64]bool{}
	for i := range got {
		seen[got[i].ID] = true
		got[i].ID = 0
	}
	want := []catalog.Principal{
		{Kind: "user", Name: "zoe", Role: "owner", Write: true}, {Kind: "group", Name: "a", Role: "admin", Write: true},
		{Kind: "group", Name: "b", Role: "member"}, {Kind: "group", Name: "zoe", Role: "owner", Write: true},
	}
	if d := cmp.Diff(want, got); d != "" || len(seen) != 4 || seen[0] {
		t.Errorf("%v\n%s", seen, d)
	}
	if again := r.number(t, nobody); seen[again] {
		t.Errorf("nobody has the number %d of somebody", again)
	}
}
