package curator

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/catalog"
)

func TestAnUpdateChangesWhatItNames(t *testing.T) {
	r := newRig(t)
	d := withFiles(draft("notes"), "a.md", "A", "b.md", "B")
	d.License, d.AllowedTools, d.Metadata = ptr("MIT"), ptr("read_url"), &map[string]string{"k": "v"}
	old := r.create(t, alice, 0, d)
	update := func(d catalog.Draft) *catalog.CustomSkill {
		t.Helper()
		s, err := r.Update(t.Context(), alice, 0, "notes", catalog.AnyRevision, d)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	paths := func(s *catalog.CustomSkill) (out []string) {
		for _, f := range s.Files[1:] {
			out = append(out, f.Path)
		}
		return out
	}
	s := update(catalog.Draft{Body: ptr("new"), Provenance: "agent"})
	want := *old
	want.Body, want.Provenance, want.HasPrevious = "new", "agent", true
	want.Updated, want.Revision, want.Files = s.Updated, s.Revision, s.Files
	if d := cmp.Diff(&want, s); d != "" || s.Revision <= old.Revision {
		t.Error(d)
	}
	if got := paths(s); !cmp.Equal(got, []string{"a.md", "b.md"}) {
		t.Errorf("files that an update does not name: %v", got)
	}
	if got := paths(update(withFiles(catalog.Draft{}, "c.md", "C"))); !cmp.Equal(got, []string{"c.md"}) {
		t.Errorf("files are the whole set: %v", got)
	}
	if s = update(withFiles(catalog.Draft{})); len(s.Files) != 1 {
		t.Errorf("no files: %v", s.Files)
	}
	if s = update(catalog.Draft{License: ptr(""), Metadata: &map[string]string{}, Name: ptr(" notes ")}); s.License != "" || len(s.Metadata) != 0 {
		t.Errorf("emptied: %+v", s)
	}
	if s.AllowedTools == nil || *s.AllowedTools != "read_url" || s.Provenance != "human" {
		t.Errorf("tools that updates do not name: %+v", s)
	}
	if s = update(catalog.Draft{RevokeTools: true}); s.AllowedTools != nil {
		t.Errorf("revoked: %v", *s.AllowedTools)
	}
	for name, tt := range map[string]struct {
		at   string
		d    catalog.Draft
		want catalog.Code
	}{
		"another name":  {"notes", catalog.Draft{Name: ptr("other")}, catalog.ValidationError},
		"no such skill": {"other", catalog.Draft{Body: ptr("x")}, catalog.SkillNotFound},
		"a shipped one": {"word-count", catalog.Draft{Body: ptr("x")}, catalog.SkillNotFound},
		"invalid":       {"notes", catalog.Draft{AllowedTools: ptr("A")}, catalog.SkillInvalid},
		"unsafe":        {"notes", withFiles(catalog.Draft{}, "../a", ""), catalog.ValidationError},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Update(t.Context(), alice, 0, tt.at, catalog.AnyRevision, tt.d)
			refused(t, err, tt.want)
		})
	}
	if now, err := r.Show(t.Context(), alice, 0, "notes"); err != nil || now.Revision != s.Revision {
		t.Errorf("a refused update: %+v, %v", now, err)
	}
}

// Restoring restores the content that the skill had before its last change, but not what it may use; and again is back.
func TestRestoreIsUndoable(t *testing.T) {
	r := newRig(t)
	d := withFiles(draft("notes"), "a.md", "A")
	d.AllowedTools, d.License, d.Metadata = ptr("read_url"), ptr("MIT"), &map[string]string{"k": "v"}
	first := r.create(t, alice, 0, d)
	_, err := r.Restore(t.Context(), alice, 0, "notes", catalog.AnyRevision)
	refused(t, err, catalog.NoPrevious)
	second, err := r.Update(t.Context(), alice, 0, "notes", first.Revision, withFiles(catalog.Draft{
		Body: ptr("two"), Description: ptr("Two."), License: ptr(""), Metadata: &map[string]string{}, AllowedTools: ptr("agent"), Provenance: "agent",
	}, "b.md", "B"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		s, err := r.Restore(t.Context(), alice, 0, "notes", catalog.AnyRevision)
		if err != nil {
			t.Fatal(err)
		}
		want := *first
		if i%2 == 1 {
			want = *second
		}
		want.AllowedTools, want.HasPrevious, want.Provenance = ptr("agent"), true, "human"
		want.Updated, want.Revision, want.Files[0] = s.Updated, s.Revision, s.Files[0]
		if d := cmp.Diff(&want, s); d != "" {
			t.Errorf("%d: %s", i, d)
		}
		path := []string{"a.md", "b.md"}[i%2]
		if content, err := r.Read(t.Context(), alice, 0, "notes", path); err != nil || len(content) != 1 {
			t.Errorf("%d: %s: %q, %v", i, path, content, err)
		}
	}
	_, err = r.Restore(t.Context(), alice, 0, "none", catalog.AnyRevision)
	refused(t, err, catalog.SkillNotFound)
}

// What would not be written anew is not restored either.
func TestRestoreChecksWhatItRestores(t *testing.T) {
	r := newRig(t, "alice")
	r.create(t, alice, 0, withFiles(draft("notes"), "scripts/main.py", "print(1)"))
	if _, err := r.Update(t.Context(), alice, 0, "notes", catalog.AnyRevision, withFiles(catalog.Draft{})); err != nil {
		t.Fatal(err)
	}
	r.code = nil // the policy is narrower now
	_, err := r.Restore(t.Context(), alice, 0, "notes", catalog.AnyRevision)
	refused(t, err, catalog.Forbidden)
}

func TestADeletedSkillIsGone(t *testing.T) {
	r := newRig(t)
	s := r.create(t, alice, 0, withFiles(draft("notes"), "a.md", "A"))
	_, err := r.Delete(t.Context(), alice, 0, "notes", s.Revision+1)
	refused(t, err, catalog.Conflict)
	gone, err := r.Delete(t.Context(), alice, 0, " notes ", s.Revision)
	if d := cmp.Diff(&catalog.Deleted{Name: "notes", Agents: []catalog.AllowlistRow{}}, gone); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if sk, _ := r.see(t, alice).Find("notes"); sk != nil {
		t.Error("it is still on the shelf")
	}
	for name, do := range map[string]func() error{
		"show":   func() error { _, err := r.Show(t.Context(), alice, 0, "notes"); return err },
		"read":   func() error { _, err := r.Read(t.Context(), alice, 0, "notes", "a.md"); return err },
		"delete": func() error { _, err := r.Delete(t.Context(), alice, 0, "notes", catalog.AnyRevision); return err },
		"list":   func() error { _, err := r.Allowlist(t.Context(), alice, 0, "notes"); return err },
		"shipped": func() error {
			_, err := r.Delete(t.Context(), alice, 0, "word-count", catalog.AnyRevision)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { refused(t, do(), catalog.SkillNotFound) })
	}
	r.create(t, alice, 0, draft("notes"))
}

// Of writers that replace the same revision one wins, and the others learn of it. Writers that name none lose nothing of
// what the others have changed.
func TestConcurrentUpdatesLoseNothing(t *testing.T) {
	r := newRig(t)
	other := r.again(t)
	s := r.create(t, alice, 0, draft("notes"))
	var all sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 6 {
		all.Go(func() {
			at := []*rig{r, other}[i%2]
			_, err := at.Update(t.Context(), alice, 0, "notes", s.Revision, catalog.Draft{Body: ptr(fmt.Sprint(i))})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, &catalog.Error{Code: catalog.Conflict}) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won != 1 {
		t.Errorf("%d of the same revision", won)
	}
	changes := []catalog.Draft{{License: ptr("MIT")}, {Compatibility: ptr("any")}, {Description: ptr("Other.")}, {Metadata: &map[string]string{"a": "b"}}}
	for i, d := range changes {
		all.Go(func() {
			if _, err := []*rig{r, other}[i%2].Update(t.Context(), alice, 0, "notes", catalog.AnyRevision, d); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := r.Show(t.Context(), alice, 0, "notes")
	if err != nil || got.License != "MIT" || got.Compatibility != "any" || got.Description != "Other." || got.Metadata["a"] != "b" {
		t.Errorf("%+v, %v", got, err)
	}
}
