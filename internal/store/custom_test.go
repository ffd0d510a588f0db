package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/catalog"
)

func user(name string) catalog.Owner { return catalog.Owner{Kind: catalog.KindUser, Name: name} }

func notes(name string) catalog.Record {
	tools := "read_url"
	return catalog.Record{Name: name, Provenance: "human", Content: catalog.Content{
		Description: "Takes notes.", License: "MIT", Compatibility: "any", AllowedTools: &tools, Metadata: map[string]string{"a": "1"},
		Body: "line\x00\r\n", Files: map[string]string{"a.md": "A", "dir/b.md": ""},
	}}
}

func added(t *testing.T, s *Store, by catalog.Owner, r catalog.Record) catalog.Record {
	t.Helper()
	kept, err := s.AddCustomSkill(t.Context(), by, r, 25)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func TestACustomSkillIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hotcell.db")
	s := opened(t, Options{Path: path, Now: func() time.Time { return start }})
	kept := added(t, s, user("alice"), notes("notes"))
	want := notes("notes")
	want.ID, want.Principal, want.CreatedBy, want.UpdatedBy, want.Created, want.Updated = kept.ID, kept.Principal, kept.Principal, kept.Principal, start, start
	want.Revision = kept.Revision
	if d := cmp.Diff(want, kept); d != "" || kept.Principal == 0 || kept.Revision == 0 {
		t.Errorf("%+v\n%s", kept, d)
	}
	for name, other := range map[string]*Store{"the same": s, "another process": opened(t, Options{Path: path})} {
		got, err := other.CustomSkill(t.Context(), kept.Principal, "notes")
		if d := cmp.Diff(kept, got); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
		all, err := other.CustomNames(t.Context(), kept.Principal)
		if d := cmp.Diff([]string{"notes"}, all); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
		if n, err := other.CountCustomSkills(t.Context(), kept.Principal); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	for _, wrong := range []func() error{
		func() error { _, err := s.CustomSkill(t.Context(), kept.Principal, "Notes"); return err },
		func() error { _, err := s.CustomSkill(t.Context(), kept.Principal+1, "notes"); return err },
		func() error { _, err := s.PreviousCustomSkill(t.Context(), kept.ID); return err },
		func() error { _, err := s.PreviousCustomSkill(t.Context(), kept.ID+1); return err },
	} {
		if err := wrong(); !errors.Is(err, catalog.ErrNone) {
			t.Errorf("%v, want none", err)
		}
	}
}

func TestRefusedCustomSkillsLeaveNothing(t *testing.T) {
	s := opened(t, Options{})
	first := added(t, s, user("alice"), notes("notes"))
	if _, err := s.AddCustomSkill(t.Context(), user("alice"), notes("notes"), 25); !errors.Is(err, catalog.ErrTaken) {
		t.Errorf("the same name: %v", err)
	}
	if _, err := s.AddCustomSkill(t.Context(), user("alice"), notes("more"), 1); !errors.Is(err, catalog.ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	stranger := notes("lost")
	stranger.Principal = first.Principal + 1000
	if _, err := s.AddCustomSkill(t.Context(), user("alice"), stranger, 25); !errors.Is(err, errNoPrincipal) {
		t.Errorf("a principal without a number: %v", err)
	}
	if v, err := s.CatalogVersion(t.Context()); v != first.Revision || err != nil {
		t.Errorf("version %d, %v", v, err)
	}
	if all, err := s.CustomNames(t.Context(), first.Principal); len(all) != 1 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
}

func TestReplacedCustomSkillsKeepWhatTheyWere(t *testing.T) {
	now := start
	s := opened(t, Options{Now: func() time.Time { return now }})
	old := added(t, s, user("alice"), notes("notes"))
	now = start.Add(time.Hour)
	next := old
	next.Content.Body, next.Content.Files, next.Provenance = "other", map[string]string{"a.md": "B"}, "agent"
	next.Content.AllowedTools, next.Content.Metadata = nil, nil
	kept, err := s.ReplaceCustomSkill(t.Context(), user("bob"), next, old.Content)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.CustomSkill(t.Context(), old.Principal, "notes")
	if d := cmp.Diff(kept, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if got.Revision <= old.Revision || got.UpdatedBy == old.UpdatedBy || got.CreatedBy != old.CreatedBy || !got.Updated.Equal(now) || !got.Created.Equal(start) ||
		!got.HasPrevious || got.Content.Body != "other" || got.Provenance != "agent" {
		t.Errorf("%+v", got)
	}
	before, err := s.PreviousCustomSkill(t.Context(), old.ID)
	if d := cmp.Diff(old.Content, before); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := s.ReplaceCustomSkill(t.Context(), user("bob"), next, old.Content); !errors.Is(err, catalog.ErrStale) {
		t.Errorf("from the old revision: %v", err)
	}
	if _, err := s.DropCustomSkill(t.Context(), old); !errors.Is(err, catalog.ErrStale) {
		t.Errorf("dropped by the old revision: %v", err)
	}
	if _, err := s.DropCustomSkill(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	for _, again := range []func() error{
		func() error { _, err := s.ReplaceCustomSkill(t.Context(), user("bob"), kept, old.Content); return err },
		func() error { _, err := s.DropCustomSkill(t.Context(), kept); return err },
	} {
		if err := again(); !errors.Is(err, catalog.ErrStale) {
			t.Errorf("after it is gone: %v", err)
		}
	}
	second := added(t, s, user("alice"), notes("notes"))
	if second.ID == old.ID || second.Revision <= kept.Revision || second.HasPrevious {
		t.Errorf("a new one of the name is %+v", second)
	}
	var files int
	if err := s.read.QueryRow(`SELECT count(*) FROM custom_files`).Scan(&files); err != nil || files != len(second.Content.Files) {
		t.Errorf("%d files are kept, %v", files, err)
	}
}

// Of writers in several processes that replace the same revision one wins, and a principal never has more skills than it may.
func TestCustomSkillsOfSeveralProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hotcell.db")
	stores := []*Store{opened(t, Options{Path: path}), opened(t, Options{Path: path})}
	old := added(t, stores[0], user("alice"), notes("notes"))
	var all sync.WaitGroup
	var mu sync.Mutex
	won, made := 0, 0
	for i := range 8 {
		all.Go(func() {
			s := stores[i%2]
			_, replaced := s.ReplaceCustomSkill(t.Context(), user("alice"), old, old.Content)
			_, grown := s.AddCustomSkill(t.Context(), user("alice"), notes(fmt.Sprintf("n%d", i)), 4)
			mu.Lock()
			defer mu.Unlock()
			if replaced == nil {
				won++
			} else if !errors.Is(replaced, catalog.ErrStale) {
				t.Error(replaced)
			}
			if grown == nil {
				made++
			} else if !errors.Is(grown, catalog.ErrFull) {
				t.Error(grown)
			}
		})
	}
	all.Wait()
	if won != 1 || made != 3 {
		t.Errorf("%d replaced it, %d were added", won, made)
	}
}

func TestHoldingsTellWhatChanged(t *testing.T) {
	s := opened(t, Options{})
	all, version, err := s.Holdings(t.Context(), 0)
	if len(all) != 0 || version == 0 || err != nil {
		t.Fatalf("%v, %d, %v", all, version, err)
	}
	if _, err := s.EnsurePrincipals(t.Context(), []catalog.Owner{user("idle")}); err != nil {
		t.Fatal(err)
	}
	b, a := added(t, s, user("alice"), notes("b")), added(t, s, user("alice"), notes("a"))
	c := added(t, s, user("bob"), notes("c"))
	alice := catalog.Holding{ID: a.Principal, Owner: user("alice"), Skills: []catalog.Label{
		{ID: a.ID, Name: "a", Revision: a.Revision}, {ID: b.ID, Name: "b", Revision: b.Revision},
	}}
	bob := catalog.Holding{ID: c.Principal, Owner: user("bob"), Skills: []catalog.Label{{ID: c.ID, Name: "c", Revision: c.Revision}}}
	for since, want := range map[int64][]catalog.Holding{0: {alice, bob}, a.Revision: {bob}, c.Revision: nil} {
		got, now, err := s.Holdings(t.Context(), since)
		if d := cmp.Diff(want, got); d != "" || now != c.Revision || err != nil {
			t.Errorf("since %d: %d, %v\n%s", since, now, err, d)
		}
	}
	if _, err := s.DropCustomSkill(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	got, _, err := s.Holdings(t.Context(), c.Revision)
	if d := cmp.Diff([]catalog.Holding{{ID: c.Principal, Owner: user("bob")}}, got); d != "" || err != nil {
		t.Errorf("after the last one is gone: %v\n%s", err, d)
	}
}

func TestPrincipalsHaveNumbersForEver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hotcell.db")
	s, other := opened(t, Options{Path: path}), opened(t, Options{Path: path})
	owners := []catalog.Owner{user("team"), {Kind: catalog.KindGroup, Name: "team"}, user("")}
	if _, err := s.PrincipalID(t.Context(), owners[0]); !errors.Is(err, catalog.ErrNone) {
		t.Errorf("before: %v", err)
	}
	ids, err := s.EnsurePrincipals(t.Context(), owners)
	if err != nil || len(ids) != 3 || ids[0] == ids[1] || ids[1] == ids[2] || slices.Min(ids) < 1 {
		t.Fatalf("%v, %v", ids, err)
	}
	again, err := other.EnsurePrincipals(t.Context(), append(slices.Clone(owners), user("more")))
	if err != nil || !slices.Equal(again[:3], ids) || slices.Contains(ids, again[3]) {
		t.Errorf("%v, %v, want %v", again, err, ids)
	}
	for i, o := range owners {
		if got, err := other.Principal(t.Context(), ids[i]); got != o || err != nil {
			t.Errorf("%d: %+v, %v", ids[i], got, err)
		}
		if got, err := other.PrincipalID(t.Context(), o); got != ids[i] || err != nil {
			t.Errorf("%+v: %d, %v", o, got, err)
		}
	}
	if _, err := s.Principal(t.Context(), slices.Max(again)+1); !errors.Is(err, catalog.ErrNone) {
		t.Errorf("unknown: %v", err)
	}
}

// A skill and its name on allowlists go together or not at all.
func TestASkillGoesWithItsNameOrNotAtAll(t *testing.T) {
	s := opened(t, Options{})
	kept := added(t, s, user("alice"), notes("notes"))
	allowed := []string{"notes"}
	good, err := s.AddAgent(t.Context(), user("alice"), catalog.AgentRecord{Name: "good", Allowed: &allowed}, 10)
	if err != nil {
		t.Fatal(err)
	}
	bad, err := s.AddAgent(t.Context(), user("alice"), catalog.AgentRecord{Name: "bad", Allowed: &allowed}, 10)
	if err != nil {
		t.Fatal(err)
	}
	spoil := func(value string) {
		t.Helper()
		if _, err := s.write.Exec(`UPDATE agents SET allowed = ? WHERE id = ?`, []byte(value), bad.ID); err != nil {
			t.Fatal(err)
		}
	}
	spoil("{no list")
	if _, err := s.DropCustomSkill(t.Context(), kept); err == nil {
		t.Error("an allowlist that can't be read is taken for one without the name")
	}
	if _, err := s.CustomSkill(t.Context(), kept.Principal, "notes"); err != nil {
		t.Errorf("the skill: %v", err)
	}
	if r, err := s.Agent(t.Context(), good.ID); err != nil || !slices.Equal(*r.Allowed, allowed) {
		t.Errorf("%+v, %v", r, err)
	}
	spoil(`"[\"notes\",\"more\"]"`)
	rows, err := s.DropCustomSkill(t.Context(), kept)
	if err != nil || len(rows) != 2 {
		t.Errorf("%+v, %v", rows, err)
	}
	if r, err := s.Agent(t.Context(), bad.ID); err != nil || !slices.Equal(*r.Allowed, []string{"more"}) {
		t.Errorf("%+v, %v", r, err)
	}
}
