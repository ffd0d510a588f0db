package curator

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/store"
)

var inBoth = a2e.Caller{Principal: "zoe", Groups: map[string]string{"beta": "owner", "alpha": "owner"}}

// What is shipped comes first, then the caller's own, then its groups' in the order of their names.
func TestTheFirstOfANameCounts(t *testing.T) {
	r := newRig(t)
	all, err := r.Principals(t.Context(), inBoth)
	if err != nil {
		t.Fatal(err)
	}
	put := func(principal catalog.Principal, name string) {
		t.Helper()
		d := draft(name)
		d.Body = ptr("of " + principal.Name)
		r.create(t, inBoth, principal.ID, d)
	}
	own, alpha, beta := all[0], all[1], all[2]
	for _, p := range []catalog.Principal{beta, alpha, own} {
		put(p, "everywhere")
		put(p, "late-shipped")
	}
	put(beta, "in-groups")
	put(alpha, "in-groups")
	put(beta, "in-beta")
	r.ship("late-shipped", "")
	if err := r.lib.Refresh(); err != nil {
		t.Fatal(err)
	}
	v := r.see(t, inBoth)
	for name, want := range map[string]string{
		"everywhere": "of zoe", "in-groups": "of alpha", "in-beta": "of beta", "late-shipped": "Do it.\n", " In_Beta ": "of beta", "EVERYWHERE": "of zoe",
	} {
		s, near := v.Find(name)
		if s == nil || s.Instructions != want || near != "" {
			t.Errorf("%s: %+v, %q", name, s, near)
		}
	}
	want := []string{"everywhere", "in-beta", "in-groups", "late-shipped", "time-arithmetic", "word-count"}
	if d := cmp.Diff(want, names(v.List())); d != "" {
		t.Error(d)
	}
	if s, near := v.Find("time-aritmetic"); s != nil || near != "time-arithmetic" {
		t.Errorf("%v, %q", s, near)
	}
	sums, err := r.Skills(t.Context(), inBoth, 0)
	var listed []string
	for _, s := range sums {
		listed = append(listed, s.Name)
	}
	if d := cmp.Diff(want, listed); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	for _, s := range sums {
		if shipped := r.lib.Lookup(s.Name) != nil; shipped != (s.Principal == 0) || shipped == (s.Source == SourceCustom) {
			t.Errorf("%+v", s)
		}
	}
	if len(r.see(t, alice).List()) != 3 {
		t.Error("another caller sees them")
	}
}

// A custom skill is a skill like any other: it has a digest, files in memory, and a way to run.
func TestACustomSkillCanRun(t *testing.T) {
	r := newRig(t, "alice")
	r.create(t, alice, 0, draft("guide"))
	r.create(t, alice, 0, withFiles(draft("counter"), "skill.yaml",
		"version: 1.2.0\nwrites: true\ninput_schema: {type: object}\nexamples: [count this]\ninput_modes: [text/plain]\n", "scripts/main.py", "#!/usr/bin/env python3\n"))
	v := r.see(t, alice)
	guide, _ := v.Find("guide")
	if guide.Run.Kind != "agent" || guide.Status != skills.Published || guide.Source != skills.SourceUser || len(guide.Bundle.Digest) != 64 || guide.Bundle.Files != 1 {
		t.Errorf("%+v", guide)
	}
	counter, _ := v.Find("counter")
	if counter.Run.Kind != "python" || counter.Version != "1.2.0" || !counter.Policy.Writes || counter.Input == nil || counter.Bundle.Files != 3 ||
		!cmp.Equal(counter.Examples, []any{"count this"}) || !cmp.Equal(counter.InputModes, []string{"text/plain"}) {
		t.Errorf("%+v", counter)
	}
	info, err := fs.Stat(counter.Bundle.FS, "scripts/main.py")
	if err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if d := guide.Definition(); d.Source != "user" || d.Name != "guide" {
		t.Errorf("%+v", d)
	}
}

// A call keeps the version that it started with, whatever becomes of the skill.
func TestASkillInUseStaysAsItIs(t *testing.T) {
	r := newRig(t)
	r.create(t, alice, 0, withFiles(draft("notes"), "a.md", "old"))
	before, _ := r.see(t, alice).Find("notes")
	if again, _ := r.see(t, alice).Find("notes"); again != before {
		t.Error("the same revision has two values")
	}
	r.create(t, alice, 0, draft("other"))
	if again, _ := r.see(t, alice).Find("notes"); again != before {
		t.Error("a write of another skill changes the value")
	}
	if _, err := r.Update(t.Context(), alice, 0, "notes", catalog.AnyRevision, withFiles(catalog.Draft{Body: ptr("new")}, "a.md", "new")); err != nil {
		t.Fatal(err)
	}
	after, _ := r.see(t, alice).Find("notes")
	if after == before || after.Instructions != "new" || after.Bundle.Digest == before.Bundle.Digest {
		t.Errorf("right after a write: %+v", after)
	}
	if _, err := r.Delete(t.Context(), alice, 0, "notes", catalog.AnyRevision); err != nil {
		t.Fatal(err)
	}
	for s, want := range map[*skills.Skill]string{before: "old", after: "new"} {
		if text, err := fs.ReadFile(s.Bundle.FS, "a.md"); string(text) != want || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// What another process writes is seen soon, and so is what it takes away.
func TestWritesOfAnotherProcessAreSeen(t *testing.T) {
	r := newRig(t)
	other := r.again(t)
	version := r.Version()
	await := func(what string, seen func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !seen(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s is not seen", what)
			}
		}
	}
	body := func() string {
		if s, _ := r.see(t, alice).Find("notes"); s != nil {
			return s.Instructions
		}
		return ""
	}
	if body() != "" {
		t.Fatal("it is there already")
	}
	other.create(t, alice, 0, draft("notes"))
	await("the new skill", func() bool { return strings.Contains(body(), "notes") })
	await("the version", func() bool { return r.Version() > version })
	if _, err := other.Update(t.Context(), alice, 0, "notes", catalog.AnyRevision, catalog.Draft{Body: ptr("more")}); err != nil {
		t.Fatal(err)
	}
	await("the change", func() bool { return body() == "more" })
	if _, err := other.Delete(t.Context(), alice, 0, "notes", catalog.AnyRevision); err != nil {
		t.Fatal(err)
	}
	await("the deletion", func() bool { return body() == "" })
}

// counted counts what is asked of a store.
type counted struct {
	Store
	mu    sync.Mutex
	n     int
	reads int // of skills
}

func (c *counted) CatalogVersion(ctx context.Context) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.Store.CatalogVersion(ctx)
}

func (c *counted) CustomSkill(ctx context.Context, principal int64, name string) (catalog.Record, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	c.reads++
	return c.Store.CustomSkill(ctx, principal, name)
}

// On the way of a call the store is not asked but for its version, now and then.
func TestAViewIsCheap(t *testing.T) {
	r := newRig(t)
	r.create(t, alice, 0, draft("notes"))
	store := &counted{Store: r.store}
	c := New(Config{Shipped: r.lib, Store: store})
	began := time.Now()
	for range 1000 {
		for _, who := range []a2e.Caller{alice, bob, nobody, member} {
			v, err := c.View(t.Context(), who)
			if err != nil {
				t.Fatal(err)
			}
			v.Find("notes")
			v.Find("word-count")
		}
	}
	if most := 3 + int(time.Since(began)/freshFor); store.n > most {
		t.Errorf("the store was asked %d times, at most %d were to be expected", store.n, most)
	}
}

// A store that can't be read is told, and not taken for an empty one.
func TestAStoreThatFails(t *testing.T) {
	r := newRig(t)
	r.create(t, alice, 0, draft("notes"))
	other := openStore(t, r.path)
	c := New(Config{Shipped: r.lib, Store: other})
	v, err := c.View(t.Context(), alice)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ := v.Find("notes")
	if s == nil || s.Status != skills.Blocked || !strings.Contains(s.BlockedWhy, "can't be read") {
		t.Errorf("%+v", s)
	}
	if _, err := New(Config{Shipped: r.lib, Store: other}).View(t.Context(), alice); err == nil {
		t.Error("a first look at a closed store succeeds")
	}
}

// What stays in memory is bounded; what does not fit is read again.
func TestTheCacheIsBounded(t *testing.T) {
	r := newRig(t)
	r.shelf.most = 3 * (overhead + 2*1200)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		r.create(t, alice, 0, withFiles(draft(name), "x.md", strings.Repeat("x", 1000)))
	}
	v := r.see(t, alice)
	for range 3 {
		for _, name := range []string{"a", "b", "c", "d", "e", "a"} {
			s, _ := v.Find(name)
			if text, err := fs.ReadFile(s.Bundle.FS, "x.md"); len(text) != 1000 || err != nil {
				t.Errorf("%s: %d, %v", name, len(text), err)
			}
		}
	}
	if n := len(v.List()); n != 7 {
		t.Errorf("%d are listed", n)
	}
	if r.shelf.bytes > r.shelf.most || r.shelf.slots.Len() > 3 || r.shelf.slots.Len() == 0 {
		t.Errorf("%d bytes in %d slots", r.shelf.bytes, r.shelf.slots.Len())
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if _, err := r.Delete(t.Context(), alice, 0, name, catalog.AnyRevision); err != nil {
			t.Fatal(err)
		}
	}
	if r.shelf.bytes != 0 || r.shelf.slots.Len() != 0 {
		t.Errorf("%d bytes in %d slots are left of nothing", r.shelf.bytes, r.shelf.slots.Len())
	}
}

// Readers and writers at once see whole skills, each as it was at some moment.
func TestReadersAndWritersAtOnce(t *testing.T) {
	r := newRig(t, "*")
	other := r.again(t)
	for _, name := range []string{"a", "b"} {
		r.create(t, alice, 0, withFiles(draft(name), "x.md", "0", "skill.yaml", "includes: [word-count]\nwrites: true\n"))
	}
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				v, err := r.View(context.Background(), alice)
				if err != nil {
					t.Error(err)
					return
				}
				for _, listed := range v.List() {
					if listed.Source != skills.SourceUser {
						continue
					}
					s, _ := v.Find(listed.Name)
					text, err := fs.ReadFile(s.Bundle.FS, "x.md")
					if err != nil || strings.TrimSpace(s.Instructions) != "# "+s.Name && s.Instructions != string(text) || s.Status != skills.Published || listed.Status != skills.Published {
						t.Errorf("%q, %q, %v", s.Instructions, text, err)
					}
				}
			}
		})
	}
	for i, at := range []*rig{r, other} {
		writers.Go(func() {
			for n := range 10 {
				body := strings.Repeat("x", n+1)
				_, err := at.Update(context.Background(), alice, 0, []string{"a", "b"}[i], catalog.AnyRevision, withFiles(catalog.Draft{Body: &body},
					"x.md", body, "skill.yaml", "includes: [word-count]\nwrites: true\n"))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if s, _ := r.see(t, alice).Find("a"); len(s.Instructions) != 10 {
		t.Errorf("%q", s.Instructions)
	}
}

// moody is a store of which one skill can't be read now.
type moody struct {
	*store.Store
	away atomic.Pointer[string]
}

func (m *moody) CustomSkill(ctx context.Context, principal int64, name string) (catalog.Record, error) {
	if away := m.away.Load(); away != nil && *away == name {
		return catalog.Record{}, errors.New("disk 7 of rack 3 is on fire")
	}
	return m.Store.CustomSkill(ctx, principal, name)
}

// What can't be read for a moment is told as that, without the store's own words, and is there again when it can be read.
func TestAMomentOfTroubleIsNotRemembered(t *testing.T) {
	r := newRig(t, "alice")
	r.create(t, alice, 0, draft("base"))
	r.create(t, alice, 0, withFiles(draft("whole"), "skill.yaml", "includes: [base]\n"))
	disk := &moody{Store: r.store}
	c := New(Config{Shipped: r.lib, Store: disk, Code: r.code})
	for _, away := range []string{"base", "whole"} {
		disk.away.Store(&away)
		v, err := c.View(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := v.Find("whole"); s == nil || s.Status != skills.Blocked || strings.Contains(s.BlockedWhy, "rack 3") {
			t.Errorf("without %s: %+v", away, s)
		}
		if _, err := c.Skills(t.Context(), alice, 0); err == nil {
			t.Errorf("without %s: a list that lies", away)
		}
		disk.away.Store(nil)
		if s, _ := v.Find("whole"); s == nil || s.Status != skills.Published || len(s.Findings) != 0 {
			t.Errorf("after that: %+v", s)
		}
		c = New(Config{Shipped: r.lib, Store: disk, Code: r.code})
	}
}
