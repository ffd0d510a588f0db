package curator

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// crowded gives a caller so many groups with as many large skills.
func crowded(t *testing.T, r *rig, groups, each int) (who a2e.Caller, bytes int) {
	t.Helper()
	who = a2e.Caller{Principal: "zoe", Groups: map[string]string{}}
	for i := range groups {
		who.Groups[fmt.Sprintf("group-%02d", i)] = "owner"
	}
	all, err := r.Principals(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	body, file := strings.Repeat("b", 40_000), strings.Repeat("f", 49_000)
	for i, p := range all[1:] {
		for n := range each {
			d := draft(fmt.Sprintf("s-%d-%d", i, n))
			d.Body = &body
			r.create(t, who, p.ID, withFiles(d, "a.md", file, "b.md", file, "c.md", file))
			bytes += len(body) + 3*len(file)
		}
	}
	return who, bytes
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A list is of whatever many groups, and holds neither bodies nor files: not in its answer, and not in memory afterwards.
func TestAListHoldsNoBodies(t *testing.T) {
	r := newRig(t)
	who, bytes := crowded(t, r, 8, 8)
	fresh := r.again(t)
	fresh.see(t, who)
	before := heap()
	v := fresh.see(t, who)
	list := v.List()
	sums, err := fresh.Skills(t.Context(), who, 0)
	if err != nil || len(list) != 66 || len(sums) != 66 {
		t.Fatalf("%d, %d, %v", len(list), len(sums), err)
	}
	if grown := heap() - before; grown > bytes/4 {
		t.Errorf("after lists of %d bytes the heap has %d more", bytes, grown)
	}
	if fresh.shelf.bytes != 0 || fresh.glances.slots.Len() != 64 {
		t.Errorf("%d bytes of whole skills, %d of what lists tell", fresh.shelf.bytes, fresh.glances.slots.Len())
	}
	for _, s := range list {
		if !s.Custom() {
			continue
		}
		if _, err := fs.ReadFile(s.Bundle.FS, "SKILL.md"); err == nil || s.Instructions != "" {
			t.Errorf("%s: %d bytes of instructions, %v", s.Name, len(s.Instructions), err)
		}
	}
	if again := v.List(); !slices.Equal(list, again) {
		t.Error("a second list has other values")
	}
	runtime.KeepAlive(sums)
}

// Apart from bodies and files, what a list tells is what the skill is.
func TestAListTellsWhatIsThere(t *testing.T) {
	r := newRig(t, "alice")
	r.create(t, alice, 0, withFiles(draft("plain"), "a.md", "x", ".hidden", "y"))
	r.create(t, alice, 0, withFiles(draft("counter"), "skill.yaml",
		"version: 1.2.0\nwrites: true\nincludes: [plain]\ninput_schema: {type: object, properties: {n: {type: integer}}}\nexamples: [count this]\n", "main.py", "#!\n"))
	r.create(t, alice, 0, withFiles(draft("lost"), "skill.yaml", "includes: [nowhere]\n", "main.py", ""))
	for _, ahead := range []bool{false, true} { // read for the list, or there already
		c := r.again(t)
		v := c.see(t, alice)
		if ahead {
			for _, name := range []string{"plain", "counter", "lost"} {
				v.Find(name)
			}
		}
		sums, err := c.Skills(t.Context(), alice, 0)
		if err != nil {
			t.Fatal(err)
		}
		listed := v.List()
		for _, name := range []string{"plain", "counter", "lost"} {
			whole, _ := v.Find(name)
			i := slices.IndexFunc(listed, func(s *skills.Skill) bool { return s.Name == name })
			if i < 0 {
				t.Fatalf("%s is not listed", name)
			}
			short := listed[i]
			bare := *whole
			bare.Instructions = ""
			if d := cmp.Diff(bare.Definition(), short.Definition()); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if d := cmp.Diff(callable(&bare), callable(short)); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if short.BlockedWhy != whole.BlockedWhy || short.Bundle.Digest != whole.Bundle.Digest || (name == "lost") != (short.Status == skills.Blocked) {
				t.Errorf("%s: %+v", name, short)
			}
			detail, err := c.Skill(t.Context(), alice, name, 0)
			i = slices.IndexFunc(sums, func(s catalog.Summary) bool { return s.Name == name })
			if err != nil || i < 0 {
				t.Fatalf("%s: %d, %v", name, i, err)
			}
			if d := cmp.Diff(detail.Summary, sums[i]); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
}

// What one list tells is bounded, and what is beyond that can be used by its name all the same.
func TestAListIsBounded(t *testing.T) {
	r := newRig(t)
	for i := range 6 {
		r.create(t, alice, 0, draft(fmt.Sprint("s", i)))
	}
	v := r.see(t, alice)
	full := v.List()
	r.room = r.glances.bytes / 2
	if got := r.see(t, alice).List(); len(full) != 8 || len(got) != 5 {
		t.Errorf("%d are listed, of all %d", len(got), len(full))
	}
	if sums, err := r.Skills(t.Context(), alice, 0); len(sums) != 5 || err != nil {
		t.Errorf("%d are listed, %v", len(sums), err)
	}
	if s, _ := r.see(t, alice).Find("s5"); s == nil || s.Status != skills.Published {
		t.Errorf("one that is not listed: %+v", s)
	}
	r.glances.most = 1
	r.create(t, alice, 0, draft("t"))
	r.room = mostListed
	if got := r.see(t, alice).List(); len(got) != 9 || r.glances.slots.Len() > 2 {
		t.Errorf("%d are listed, %d kept", len(got), r.glances.slots.Len())
	}
}

// Of skills that lists have told of, and that nothing has changed, nothing is read again.
func TestAListIsCheap(t *testing.T) {
	r := newRig(t, "alice")
	r.create(t, alice, 0, draft("plain"))
	r.create(t, alice, 0, withFiles(draft("counter"), "skill.yaml", "includes: [plain]\n", "main.py", ""))
	store := &counted{Store: r.store}
	c := New(Config{Shipped: r.lib, Store: store, Code: []string{"alice"}})
	list := func() []*skills.Skill {
		v, err := c.View(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		return v.List()
	}
	first := list()
	store.mu.Lock()
	store.reads = 0
	store.mu.Unlock()
	if again := list(); !slices.Equal(first, again) || store.reads != 0 {
		t.Errorf("%d skills were read again", store.reads)
	}
	r.ship("late", "")
	if err := r.lib.Refresh(); err != nil {
		t.Fatal(err)
	}
	if again := list(); again[0] != first[0] || len(again) != len(first)+1 {
		t.Error("a skill that did not change has another value")
	}
}
