package skills

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const still = 50 * time.Millisecond

// settle looks once, and returns how many bundles are still being written.
func settle(t *testing.T, l *Library, places ...Place) int {
	t.Helper()
	unsettled, err := l.Settle(still, places...)
	if err != nil {
		t.Fatal(err)
	}
	return len(unsettled)
}

// A bundle that is being written is read once it is quiet, never by half. What was known of it stays until then.
func TestHalfWrittenBundlesAreNotRead(t *testing.T) {
	for name, places := range map[string][]Place{"everything": nil, "one place": {{0, "one"}}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				l := mustLoad(t, Dir(SourceProject, dir))
				l.Watched(true)
				bundleDir(t, dir, "one", "First.")
				for i := range 5 {
					write(t, fmt.Sprintf("%s/one/part%d", dir, i), "x")
					if settle(t, l, places...) != 1 || len(l.List()) != 0 {
						t.Fatal("read while it was being written")
					}
					time.Sleep(still - time.Millisecond)
				}
				time.Sleep(time.Millisecond)
				if settle(t, l, places...) != 0 || len(l.List()) != 1 {
					t.Fatal("not read, though it is quiet")
				}
				first, _ := l.Find("one")
				if first.Bundle.Files != 7 {
					t.Errorf("%d files", first.Bundle.Files)
				}
				bundleDir(t, dir, "one", "Second.")
				if n := settle(t, l, places...); n != 1 {
					t.Errorf("%d unsettled", n)
				}
				if now, _ := l.Find("one"); now != first {
					t.Error("changed while it was being written")
				}
				time.Sleep(still)
				settle(t, l, places...)
				if now, _ := l.Find("one"); now.Description != "Second." {
					t.Errorf("still %q", now.Description)
				}
				remove(t, dir+"/one")
				settle(t, l, places...)
				if len(l.List()) != 0 {
					t.Error("a bundle that is gone is still there")
				}
			})
		})
	}
}

// What is touched, or written anew with the same content, stays the same skill, also for those that are composed.
func TestUnchangedDigestsKeepTheirSkill(t *testing.T) {
	dir := t.TempDir()
	bundleDir(t, dir, "base", "Base.")
	bundleDir(t, dir, "user", "Uses it.")
	write(t, dir+"/user/skill.yaml", "includes: [base]\ntools: ['skill:base']\n")
	bundleDir(t, dir, "other", "Other.")
	bundleDir(t, filepath.Join(dir, "second"), "other", "A second copy.")
	l := mustLoad(t, Dir(SourceProject, dir), Dir(SourceProject, filepath.Join(dir, "second")))
	before := l.List()
	if len(before) != 4 {
		t.Fatalf("%q", listing(l))
	}
	later := time.Now().Add(time.Hour)
	for _, name := range []string{"base", "user", "other"} {
		if err := os.Chtimes(dir+"/"+name+"/SKILL.md", later, later); err != nil {
			t.Fatal(err)
		}
	}
	bundleDir(t, dir, "new", "New.")
	if err := l.Refresh(); err != nil {
		t.Fatal(err)
	}
	kept := map[*Skill]bool{}
	for _, s := range l.List() {
		kept[s] = true
	}
	for _, s := range before {
		if !kept[s] {
			t.Errorf("%s from %s was made anew", s.Name, s.Path)
		}
	}
	write(t, dir+"/base/scripts/main.py", "print(2)\n")
	if err := l.Refresh(); err != nil {
		t.Fatal(err)
	}
	if s, _ := l.Find("base"); kept[s] {
		t.Error("a changed skill is the same value")
	}
}

// A call that holds a skill reads what the digest says, whatever becomes of the folder meanwhile.
func TestCallsInFlightKeepTheirVersion(t *testing.T) {
	dir := t.TempDir()
	bundleDir(t, dir, "one", "First.")
	l := mustLoad(t, Dir(SourceProject, dir))
	held, _ := l.Find("one")
	bundleDir(t, dir, "one", "Second.")
	write(t, dir+"/one/scripts/main.py", "print(2)\n")
	if err := l.Refresh(); err != nil {
		t.Fatal(err)
	}
	if now, _ := l.Find("one"); now == held || now.Bundle.Digest == held.Bundle.Digest || now.Description != "Second." {
		t.Errorf("now %q", now.Description)
	}
	remove(t, dir+"/one")
	script, err := fs.ReadFile(held.Bundle.FS, "scripts/main.py")
	if err != nil || string(script) != "print(1)\n" {
		t.Errorf("%q, %v", script, err)
	}
	if again := openBundle(held.Bundle.FS, 0, &report{}); again.Digest != held.Bundle.Digest {
		t.Errorf("digest %s, want %s", again.Digest, held.Bundle.Digest)
	}
}

// A large bundle is not kept in memory. A call that holds it reads what the digest says, or is told that this is gone.
func TestLargeBundlesAreNotKept(t *testing.T) {
	dir := t.TempDir()
	bundleDir(t, dir, "one", "Large.")
	data := bytes.Repeat([]byte("x"), keepBundle)
	write(t, dir+"/one/data", string(data))
	l := mustLoad(t, Dir(SourceProject, dir))
	held, _ := l.Find("one")
	if l.kept != 0 {
		t.Errorf("%d bytes are kept", l.kept)
	}
	if got, err := fs.ReadFile(held.Bundle.FS, "data"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	data[7]++
	write(t, dir+"/one/data", string(data))
	if _, err := fs.ReadFile(held.Bundle.FS, "data"); !errors.Is(err, errChanged) {
		t.Errorf("got %v", err)
	}
}

// What is kept in memory is given back.
func TestKeptBytesAreCounted(t *testing.T) {
	dir := t.TempDir()
	size := func(name string) (n int64) {
		t.Helper()
		if err := filepath.WalkDir(filepath.Join(dir, name), func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				info, err := d.Info()
				n += info.Size()
				return err
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	bundleDir(t, dir, "one", "One.")
	bundleDir(t, dir, "two", "Two.")
	l := mustLoad(t, Dir(SourceProject, dir))
	for range 3 {
		write(t, dir+"/one/data", strings.Repeat("x", 1000))
		if err := l.Refresh(); err != nil {
			t.Fatal(err)
		}
		if want := size("one") + size("two"); l.kept != want {
			t.Errorf("%d bytes are kept, want %d", l.kept, want)
		}
		remove(t, dir+"/one/data")
		if _, err := l.Settle(0, Place{0, "one"}, Place{0, "gone"}, Place{0, "../two"}, Place{9, "x"}); err != nil {
			t.Fatal(err)
		}
		if want := size("one") + size("two"); l.kept != want {
			t.Errorf("%d bytes are kept, want %d", l.kept, want)
		}
	}
	remove(t, dir)
	if err := l.Refresh(); err != nil || l.kept != 0 || len(l.List()) != 0 {
		t.Errorf("%d bytes, %v", l.kept, err)
	}
}

// A source that cannot be read keeps its skills, and the others go on.
func TestOneBadSourceHoldsUpNobody(t *testing.T) {
	good, bad := t.TempDir(), filepath.Join(t.TempDir(), "skills")
	bundleDir(t, bad, "kept", "Kept.")
	l := mustLoad(t, Dir("broken", bad), Dir(SourceProject, good))
	remove(t, bad)
	write(t, bad, "a file")
	bundleDir(t, good, "fresh", "Fresh.")
	if err := l.Refresh(); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"fresh Published project", "kept Published broken"}, listing(l)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Project, installed, bundled, plugins: of one name the first source counts, silently.
func TestSourcesInOrder(t *testing.T) {
	labels := []string{SourceProject, SourceInstalled, SourceCore, "a-plugin", "b-plugin"}
	var sources []Source
	root := t.TempDir()
	for i, label := range labels {
		dir := filepath.Join(root, label)
		for _, name := range labels[:i+1] {
			bundleDir(t, dir, "from-"+name, "Of "+label+".")
		}
		sources = append(sources, Dir(label, dir))
	}
	l := mustLoad(t, sources...)
	for i, label := range labels {
		s, _ := l.Find("from-" + label)
		if s == nil || s.Source != labels[i] || len(s.Findings) > 0 || s.Folder != "from-"+label {
			t.Errorf("from-%s: %+v", label, s)
		}
	}
	if n := len(l.List()); n != len(labels) {
		t.Errorf("%d rows: %q", n, listing(l))
	}
}

// Many skills, and none of them slow: a change reads one bundle, not all.
func TestAChangeReadsOneBundle(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		bundleDir(t, dir, fmt.Sprintf("skill-%03d", i), "x")
	}
	l := mustLoad(t, Dir(SourceProject, dir))
	before := map[*Skill]bool{}
	for _, s := range l.List() {
		before[s] = true
	}
	bundleDir(t, dir, "skill-100", "Changed.")
	if _, err := l.Settle(0, Place{0, "skill-100"}); err != nil {
		t.Fatal(err)
	}
	anew := 0
	for _, s := range l.List() {
		if !before[s] {
			anew++
		}
	}
	if anew != 1 || len(before) != 200 {
		t.Errorf("%d of %d were made anew", anew, len(before))
	}
}

// While somebody watches, nobody who looks a skill up waits for the disk.
func TestWatchedLookupsLeaveTheDiskAlone(t *testing.T) {
	dir := t.TempDir()
	bundleDir(t, dir, "one", "First.")
	synctest.Test(t, func(t *testing.T) {
		l := mustLoad(t, Dir(SourceProject, dir))
		l.Watched(true)
		remove(t, dir+"/one")
		time.Sleep(2 * rescanEvery)
		if s, _ := l.Find("one"); s == nil || len(l.List()) != 1 {
			t.Error("the disk was looked at")
		}
		l.Watched(false)
		if s, _ := l.Find("one"); s != nil {
			t.Error("the disk was not looked at")
		}
	})
}

// learning is a host that gets to know a tool.
type learning struct {
	noTools
	version uint64
}

func (b *learning) Version() uint64 { return b.version }

func (b *learning) Tool(name string) Found {
	if b.version == 0 {
		return b.noTools.Tool(name)
	}
	return Found{Tools: []Tool{{Name: name, Source: ToolBuiltin}}}
}

func TestWatchedLibrariesLearnOfTools(t *testing.T) {
	dir := t.TempDir()
	bundleDir(t, dir, "one", "First.")
	write(t, dir+"/one/skill.yaml", "tools: [reader]\n")
	box := &learning{}
	l, err := LoadWith([]Source{Dir(SourceProject, dir)}, box, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Watched(true)
	if s, _ := l.Find("one"); s.Status != Blocked {
		t.Errorf("before: %s", s.Status)
	}
	box.version++
	if s, _ := l.Find("one"); s.Status != Published {
		t.Errorf("after: %s %q", s.Status, s.BlockedWhy)
	}
}
