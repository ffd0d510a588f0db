package watch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/skills"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a change may take to arrive on a machine that has much else to do.
const patience = 30 * time.Second

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func bundle(t *testing.T, dir, name, about string) {
	t.Helper()
	write(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: "+about+"\n---\n")
	write(t, filepath.Join(dir, name, "scripts/lib/main.py"), "print(1)\n")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// watched is a library that is kept up to date until the test ends.
func watched(t *testing.T, o Options, dirs ...string) *skills.Library {
	t.Helper()
	var sources []skills.Source
	for i, dir := range dirs {
		sources = append(sources, skills.Dir(fmt.Sprintf("source-%d", i), dir))
	}
	lib, err := skills.Load(sources, nil)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { Run(ctx, lib, o) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return lib
}

// await waits until a skill is as it should be; nil stands for one that is gone.
func await(t *testing.T, lib *skills.Library, name string, right func(s *skills.Skill) bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s, _ := lib.Find(name)
		if right(s) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s never came to be right: %+v", name, s)
		}
	}
}

func about(text string) func(s *skills.Skill) bool {
	return func(s *skills.Skill) bool { return s != nil && s.Description == text }
}

func gone(s *skills.Skill) bool { return s == nil }

// Whatever happens to bundles is noticed, whether the system tells or not.
func TestChangesArrive(t *testing.T) {
	for name, o := range map[string]Options{"told": {}, "polling": {Poll: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "skills")
			must(t, os.Mkdir(dir, 0o755))
			bundle(t, dir, "one", "First.")
			lib := watched(t, o, dir)
			await(t, lib, "one", about("First."))
			bundle(t, dir, "one", "Second.")
			bundle(t, dir, "two", "New.")
			await(t, lib, "one", about("Second."))
			await(t, lib, "two", about("New."))
			two, _ := lib.Find("two")
			write(t, dir+"/two/scripts/lib/main.py", "print(2)\n")
			await(t, lib, "two", func(s *skills.Skill) bool { return s.Bundle.Digest != two.Bundle.Digest })
			write(t, dir+"/two/scripts/deep/er/file", "x")
			await(t, lib, "two", func(s *skills.Skill) bool { return s.Bundle.Files == 3 })
			write(t, dir+"/two/scripts/deep/er/file2", "x")
			await(t, lib, "two", func(s *skills.Skill) bool { return s.Bundle.Files == 4 })
			must(t, os.Rename(dir+"/two", dir+"/three"))
			await(t, lib, "two", gone)
			await(t, lib, "three", func(s *skills.Skill) bool { return s != nil && s.Status == skills.Blocked })
			must(t, os.RemoveAll(dir+"/one"))
			await(t, lib, "one", gone)
		})
	}
}

// A folder becomes a bundle when SKILL.md comes, and is none when it goes.
func TestFoldersThatBecomeBundles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/late/notes.md", "x")
	lib := watched(t, Options{}, dir)
	bundle(t, dir, "late", "Now.")
	await(t, lib, "late", about("Now."))
	must(t, os.Remove(dir+"/late/SKILL.md"))
	await(t, lib, "late", gone)
}

// A source's folder may come, go, and come again.
func TestFoldersOfSources(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "skills")
	lib := watched(t, Options{}, t.TempDir(), dir)
	bundle(t, dir, "one", "First.")
	await(t, lib, "one", about("First."))
	must(t, os.Rename(dir, dir+".old"))
	await(t, lib, "one", gone)
	bundle(t, parent, "made", "Elsewhere.")
	must(t, os.Mkdir(parent+"/next", 0o755))
	must(t, os.Rename(parent+"/made", parent+"/next/made"))
	must(t, os.Rename(parent+"/next", dir))
	await(t, lib, "made", about("Elsewhere."))
}

// Where the system tells of some folders only, everything is looked at from time to time.
func TestSomeFoldersAreNotTold(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		bundle(t, dir, fmt.Sprintf("skill-%d", i), "x")
	}
	lib, err := skills.Load([]skills.Source{skills.Dir(skills.SourceProject, dir)}, nil)
	must(t, err)
	w := newWatcher(lib, Options{})
	w.open()
	defer w.close()
	w.most = 10
	if w.look(); !w.partial || w.pause() != instead {
		t.Errorf("partial: %t, pause %s", w.partial, w.pause())
	}
	w.most, w.all = maxFolders, true
	if w.look(); w.partial || w.pause() != seldom {
		t.Errorf("partial: %t, pause %s", w.partial, w.pause())
	}
}

func TestWhichFolderAPathIsIn(t *testing.T) {
	r := root{dir: "/srv/skills"}
	for path, want := range map[string]string{
		"/srv/skills": "in:", "/srv/skills/one": "in:one", "/srv/skills/one/a/b": "in:one",
		"/srv/skills/.git/x": "out", "/srv/skills2/one": "out", "/srv": "out", "/other": "out",
	} {
		folder, in := r.folder(path)
		got := "out"
		if in {
			got = "in:" + folder
		}
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if folder, in := (root{dir: "/"}).folder("/one/x"); folder != "one" || !in {
		t.Errorf("below /: %q, %t", folder, in)
	}
}
