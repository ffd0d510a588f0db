package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// volumeOf is a listed volume, of a tree, that was made so long before now.
func volumeOf(tree, digest string, now time.Time, age time.Duration) sandbox.Listed {
	l := sandbox.Listed{ID: tree + "-" + digest, Kind: "volume", Name: tree + "-" + digest, Tree: tree, Labels: map[string]string{
		sandbox.LabelManaged: "1", sandbox.LabelDigest: digest,
	}}
	if age >= 0 {
		l.Created = now.Add(-age)
	}
	return l
}

func TestSurplusVolumes(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	most := Volumes{Custom: 2, All: 3}.filled()
	const bundle, custom, unknown = sandbox.TreeBundle, sandbox.TreeCustom, -1
	of := func(tree, digest string, age time.Duration) sandbox.Listed { return volumeOf(tree, digest, now, age) }
	odd := of(custom, "odd", time.Hour)
	odd.Labels = map[string]string{sandbox.LabelManaged: "1"}
	cell := of(custom, "cell", time.Hour)
	cell.Kind = "cell"
	for name, tt := range map[string]struct {
		all  []sandbox.Listed
		used map[string]time.Duration // ago
		gone []string
	}{
		"a few":                     {[]sandbox.Listed{of(bundle, "a", time.Hour), of(bundle, "b", 6*24*time.Hour), of(custom, "c", 10*time.Minute)}, nil, nil},
		"a custom one, long unused": {[]sandbox.Listed{of(custom, "a", 16*time.Minute), of(custom, "b", 15*time.Minute)}, nil, []string{"custom-a"}},
		"used since":                {[]sandbox.Listed{of(custom, "a", time.Hour), of(custom, "b", time.Hour)}, map[string]time.Duration{"a": 10 * time.Minute, "b": 20 * time.Minute}, []string{"custom-b"}},
		"too many custom ones": {
			[]sandbox.Listed{of(custom, "a", 3*time.Minute), of(custom, "b", 5*time.Minute), of(custom, "c", 14*time.Minute), of(custom, "d", 4*time.Minute)},
			map[string]time.Duration{"c": 6 * time.Minute}, []string{"custom-b", "custom-c"},
		},
		"too many of all": {
			[]sandbox.Listed{of(bundle, "a", time.Hour), of(bundle, "b", 2*time.Hour), of(custom, "c", 10*time.Minute), of(bundle, "d", 3*time.Hour), of(bundle, "e", 4*time.Hour)},
			map[string]time.Duration{"e": 3 * time.Minute}, []string{"bundle-b", "bundle-d"},
		},
		"just made, just used": {
			[]sandbox.Listed{of(custom, "a", 0), of(custom, "b", time.Minute), of(custom, "c", 119*time.Second), of(custom, "d", time.Hour), of(bundle, "e", -2*time.Hour)},
			map[string]time.Duration{"d": time.Minute}, nil,
		},
		"of no known age": {[]sandbox.Listed{of(custom, "a", unknown), of(custom, "b", unknown)}, nil, nil},
		"of no known age, too many": {
			[]sandbox.Listed{of(custom, "a", unknown), of(custom, "b", 10*time.Minute), of(custom, "c", 11*time.Minute)}, nil, []string{"custom-a"},
		},
		"others": {[]sandbox.Listed{
			of("runner", "a", time.Hour), of("engine", "b", time.Hour), of("", "c", time.Hour), of("runner", "d", time.Hour), of("runner", "e", time.Hour), odd, cell,
		}, nil, nil},
	} {
		used := map[string]time.Time{}
		for digest, ago := range tt.used {
			used[digest] = now.Add(-ago)
		}
		if got := slices.Sorted(maps.Keys(surplus(tt.all, now, used, most))); !slices.Equal(got, tt.gone) {
			t.Errorf("%s: %v go, want %v", name, got, tt.gone)
		}
	}
}

func TestUsesAreBounded(t *testing.T) {
	u := uses{last: map[string]time.Time{}}
	start := time.Unix(1_800_000_000, 0)
	for i := range mostUses + 10 {
		u.note(start, fmt.Sprint(i))
	}
	u.note(start.Add(time.Minute), "0", "new", "")
	if len(u.last) != mostUses || !u.last["0"].Equal(start.Add(time.Minute)) {
		t.Errorf("%d are remembered, the first %v", len(u.last), u.last["0"])
	}
	listed := []sandbox.Listed{volumeOf(sandbox.TreeCustom, "1", start, 0)}
	if got := u.of(listed, start.Add(creationGrace)); len(got) != mostUses {
		t.Errorf("%d are left of those that were just used", len(got))
	}
	if got := u.of(listed, start.Add(creationGrace+time.Second)); len(got) != 2 || got["1"].IsZero() || got["0"].IsZero() {
		t.Errorf("left: %v", got)
	}
}

func TestTheTreeOfABundle(t *testing.T) {
	s := &skills.Skill{Source: skills.SourceProject, Bundle: skills.Bundle{Digest: "d"}}
	if got := bundle(s, wall.DirSkill); got.Name != sandbox.TreeBundle || got.Digest != "d" || got.Target != wall.DirSkill {
		t.Errorf("%+v", got)
	}
	s.Source, s.Owner = skills.SourceUser, &skills.Owner{Name: "alice"}
	if got := bundle(s, wall.DirSkill); got.Name != sandbox.TreeCustom {
		t.Errorf("a custom one: %+v", got)
	}
}

// What nobody uses goes with the sweep, and what cannot be removed since others use it is no error.
func TestSweepOfVolumes(t *testing.T) {
	b, sh, _ := graveyard(t, well)
	now := time.Now()
	for i := range 5 {
		sh.things = append(sh.things, volumeOf(sandbox.TreeCustom, fmt.Sprint("old", i), now, time.Hour))
	}
	sh.things = append(sh.things, volumeOf(sandbox.TreeCustom, "young", now, time.Minute), volumeOf(sandbox.TreeBundle, "shipped", now, 5*24*time.Hour))
	b.uses.note(now, "old3")
	sh.remove = func(_ context.Context, id string) error {
		if id == "custom-old4" {
			return errors.New("volume is in use")
		}
		return nil
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if got := sh.gone(); !slices.Equal(got, []string{"custom-old0", "custom-old1", "custom-old2"}) || !slices.Contains(sh.tried, "custom-old4") {
		t.Errorf("removed %v, tried %v", got, sh.tried)
	}
}

// A call notes the trees that it uses.
func TestACallUsesItsVolumes(t *testing.T) {
	b := setUp(t, well, nil)
	if resp, _ := b.ask(t.Context(), req("free")); resp.Error != nil {
		t.Fatal(resp.Error)
	}
	b.uses.mu.Lock()
	defer b.uses.mu.Unlock()
	if len(b.uses.last) != 2 {
		t.Errorf("it notes %v", b.uses.last)
	}
}
