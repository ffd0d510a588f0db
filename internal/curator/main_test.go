package curator

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a curator over a store in a real file, and some shipped skills.
type rig struct {
	*Curator
	catalog.Custom
	store *store.Store
	path  string
	disk  fstest.MapFS
	lib   *skills.Library
}

func newRig(t testing.TB, code ...string) *rig {
	t.Helper()
	r := &rig{path: filepath.Join(t.TempDir(), "hotcell.db"), disk: fstest.MapFS{}}
	r.ship("time-arithmetic", "")
	r.ship("word-count", "writes: true\ntools: []\n")
	r.store = openStore(t, r.path)
	r.lib = library(t, r.disk)
	r.Curator = New(Config{Shipped: r.lib, Store: r.store, Code: code})
	r.Custom = r.Curator.Custom()
	return r
}

// again is another process with the same store.
func (r *rig) again(t testing.TB) *rig {
	t.Helper()
	other := &rig{path: r.path, disk: r.disk, store: openStore(t, r.path), lib: library(t, r.disk)}
	other.Curator = New(Config{Shipped: other.lib, Store: other.store, Code: r.code})
	other.Custom = other.Curator.Custom()
	return other
}

func openStore(t testing.TB, path string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func library(t testing.TB, disk fstest.MapFS) *skills.Library {
	t.Helper()
	lib, err := skills.Load([]skills.Source{{Label: skills.SourceProject, FS: disk, Path: "skills"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// ship puts a skill into a folder, with a skill.yaml unless that is "".
func (r *rig) ship(name, yaml string) {
	r.disk[name+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: Shipped " + name + ".\n---\n\nDo it.\n")}
	r.disk[name+"/references/more.md"] = &fstest.MapFile{Data: []byte("More about " + name + ".\n")}
	if yaml != "" {
		r.disk[name+"/skill.yaml"] = &fstest.MapFile{Data: []byte(yaml)}
	}
}

// The callers of the tests: two users, and people of a group.
var (
	alice  = a2e.Caller{Principal: "alice"}
	bob    = a2e.Caller{Principal: "bob"}
	member = a2e.Caller{Principal: "mia", Groups: map[string]string{"team": "member"}}
	admin  = a2e.Caller{Principal: "ada", Groups: map[string]string{"team": "admin"}}
	owner  = a2e.Caller{Principal: "olga", Groups: map[string]string{"team": "owner"}}
	boss   = a2e.Caller{Principal: "root", Admin: true}
	nobody = a2e.Caller{Admin: true}
)

func ptr[T any](v T) *T { return &v }

// draft is a skill that is written by hand.
func draft(name string) catalog.Draft {
	return catalog.Draft{Name: &name, Description: ptr("Does " + name + "."), Body: ptr("# " + name + "\n"), Provenance: "human"}
}

func withFiles(d catalog.Draft, pairs ...string) catalog.Draft {
	files := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = pairs[i+1]
	}
	d.Files = &files
	return d
}

func (r *rig) create(t testing.TB, who a2e.Caller, principal int64, d catalog.Draft) *catalog.CustomSkill {
	t.Helper()
	s, err := r.Create(t.Context(), who, principal, d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// group returns the number of a caller's group.
func (r *rig) group(t testing.TB, who a2e.Caller) int64 {
	t.Helper()
	all, err := r.Principals(t.Context(), who)
	if err != nil || len(all) < 2 {
		t.Fatalf("%v, %v", all, err)
	}
	return all[1].ID
}

func (r *rig) number(t testing.TB, who a2e.Caller) int64 {
	t.Helper()
	all, err := r.Principals(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	return all[0].ID
}

// codeOf returns the code of an error, or its text where it has none.
func codeOf(err error) catalog.Code {
	var e *catalog.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	}
	return catalog.Code(err.Error())
}

func refused(t testing.TB, err error, want catalog.Code) {
	t.Helper()
	if codeOf(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func (r *rig) see(t testing.TB, who a2e.Caller) skills.View {
	t.Helper()
	v, err := r.View(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func names(all []*skills.Skill) (out []string) {
	for _, s := range all {
		out = append(out, s.Name)
	}
	return out
}

func asError(err error, e **catalog.Error) bool { return errors.As(err, e) }
