package skills

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mustLoad(t *testing.T, sources ...Source) *Library {
	t.Helper()
	l, err := Load(sources, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// listing renders the skills as "name status source".
func listing(l *Library) []string {
	out := []string{}
	for _, s := range l.List() {
		out = append(out, fmt.Sprintf("%s %s %s", s.Name, s.Status, s.Source))
	}
	return out
}

func TestFirstSourceWins(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	bundleDir(t, one, "greet", "First.")
	bundleDir(t, two, "greet", "Second.")
	bundleDir(t, two, "alpha", "Only here.")
	write(t, one+"/notes/README.md", "no skill")
	write(t, one+"/.hidden/SKILL.md", goodSkillMD)
	write(t, one+"/SKILL.md", goodSkillMD)
	l := mustLoad(t, Dir(SourceProject, one), Dir(SourceCore, two), Dir(SourceUser, one+"/not/there"))
	if diff := cmp.Diff([]string{"alpha Published core", "greet Published project"}, listing(l)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s, _ := l.Find("greet")
	if s.Description != "First." || s.Path != filepath.Join(one, "greet") {
		t.Errorf("got %q at %s", s.Description, s.Path)
	}
}

func TestSameLabelTwiceIsAConflict(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	bundleDir(t, one, "greet", "First.")
	bundleDir(t, two, "greet", "Second.")
	l := mustLoad(t, Dir(SourceProject, one), Dir(SourceProject, two))
	if diff := cmp.Diff([]string{"greet Published project", "greet Blocked project"}, listing(l)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if s, _ := l.Find("greet"); s.Description != "First." || len(s.Findings) != 0 {
		t.Errorf("found %q with %q", s.Description, texts(s.Findings))
	}
	second := l.List()[1]
	want := fmt.Sprintf("SKILL.md: error: a skill named %q is there twice in the source %q; this copy (%s) is not used [SKILL_NAME_CONFLICT]",
		"greet", "project", filepath.Join(two, "greet"))
	if diff := cmp.Diff([]string{want}, texts(second.Findings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBrokenSkillsHideNobody(t *testing.T) {
	dir := t.TempDir()
	bundleDir(t, dir, "good", "Fine.")
	write(t, dir+"/broken/SKILL.md", "---\nname: [\n---\n")
	write(t, dir+"/impostor/SKILL.md", "---\nname: good\ndescription: x\n---\n")
	write(t, dir+"/Upper Case/SKILL.md", "---\nname: Upper Case\ndescription: x\n---\n")
	l := mustLoad(t, Dir(SourceProject, dir))
	want := []string{"Upper Case Blocked project", "broken Blocked project", "good Published project", "impostor Blocked project"}
	if diff := cmp.Diff(want, listing(l)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s, _ := l.Find("broken"); s == nil || s.BlockedWhy == "" {
		t.Errorf("got %+v", s)
	}
}

func TestIncludes(t *testing.T) {
	dir := t.TempDir()
	bundleDir(t, dir, "base", "Base.")
	bundleDir(t, dir, "happy", "Includes what is there.")
	write(t, dir+"/happy/skill.yaml", "includes: [base]\n")
	bundleDir(t, dir, "sad", "Includes what is not.")
	write(t, dir+"/sad/skill.yaml", "tags: [x]\nincludes: [base, nobody]\n")
	l := mustLoad(t, Dir(SourceProject, dir))
	if s, _ := l.Find("happy"); s.Status != Published {
		t.Errorf("happy: %s %q", s.Status, s.BlockedWhy)
	}
	s, _ := l.Find("sad")
	if s.Status != Blocked || s.BlockedWhy != `includes: there is no skill "nobody"` {
		t.Errorf("sad: %s %q", s.Status, s.BlockedWhy)
	}
	want := []string{`skill.yaml:2:11: error: includes: there is no skill "nobody" [resolution_failure]`}
	if diff := cmp.Diff(want, texts(s.Findings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	bundleDir(t, dir, "nobody", "Now there.")
	if err := l.Refresh(); err != nil {
		t.Fatal(err)
	}
	if s, _ := l.Find("sad"); s.Status != Published || len(s.Findings) != 0 {
		t.Errorf("sad, mended: %s %q", s.Status, texts(s.Findings))
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"code-review", "data-profile", "a-b"} {
		bundleDir(t, dir, name, "x")
	}
	write(t, dir+"/a_b/SKILL.md", "broken")
	bundleDir(t, dir, "archived", "x")
	write(t, dir+"/archived/skill.yaml", "status: Archived\n")
	l := mustLoad(t, Dir(SourceProject, dir))
	for asked, want := range map[string][2]string{
		"code-review":             {"code-review", ""},
		"code_review":             {"code-review", ""},
		"  Code-Review\n":         {"code-review", ""},
		"DATA_PROFILE":            {"data-profile", ""},
		"a-b":                     {"a-b", ""},
		"a_b":                     {"a_b", ""},
		"A_B":                     {"a_b", ""},
		"code-reviwe":             {"", "code-review"},
		"code_reviews":            {"", "code-review"},
		"dataprofile":             {"", "data-profile"},
		"archivd":                 {"", ""},
		"something-else":          {"", ""},
		"":                        {"", ""},
		"../code-review":          {"", "code-review"},
		string(make([]byte, 1e6)): {"", ""},
	} {
		s, hint := l.Find(asked)
		got := [2]string{"", hint}
		if s != nil {
			got[0] = s.Name
		}
		if got != want {
			t.Errorf("Find(%.40q) = %q, want %q", asked, got, want)
		}
	}
}

func TestAmbiguousName(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/x-y_z/SKILL.md", "broken")
	write(t, dir+"/x_y-z/SKILL.md", "broken")
	l := mustLoad(t, Dir(SourceProject, dir))
	if s, _ := l.Find("x-y-z"); s != nil {
		t.Errorf("got %s, though two are meant", s.Name)
	}
}

func TestRootErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "x")
	if _, err := Load([]Source{Dir(SourceProject, file)}, nil); err == nil {
		t.Error("a file counts as a skills folder")
	} else {
		mustContain(t, err.Error(), "skills folder "+file+": ")
	}
	if l := mustLoad(t, Dir(SourceProject, file+"/below")); len(l.List()) > 0 {
		t.Errorf("%q below a file", listing(l))
	}
}

func TestChangesAreNoticed(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "skills")
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		l, err := Load([]Source{Dir(SourceProject, root)}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		step := func(change func(), want ...string) {
			t.Helper()
			change()
			time.Sleep(2 * rescanEvery)
			got := []string{}
			for _, s := range l.List() {
				got = append(got, s.Name+" "+s.Description)
			}
			if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		step(func() {})
		step(func() { bundleDir(t, root, "one", "First.") }, "one First.")
		before, _ := l.Find("one")
		step(func() { bundleDir(t, root, "two", "Second.") }, "one First.", "two Second.")
		if after, _ := l.Find("one"); after != before {
			t.Error("a skill that did not change was read again")
		}
		step(func() { bundleDir(t, root, "one", "Changed text.") }, "one Changed text.", "two Second.")
		after, _ := l.Find("one")
		if after.Bundle.Digest == before.Bundle.Digest {
			t.Error("the digest stayed")
		}
		digest := after.Bundle.Digest
		step(func() { write(t, root+"/one/scripts/lib/x.py", "#") }, "one Changed text.", "two Second.")
		if after, _ := l.Find("one"); after.Bundle.Digest == digest {
			t.Error("a new file in a folder below was not noticed")
		}
		step(func() { remove(t, root+"/two") }, "one Changed text.")
		step(func() { remove(t, root); write(t, root, "a file") }, "one Changed text.") // unreadable: what is known stays
		step(func() {}, "one Changed text.")
		step(func() { remove(t, root) })
	})
	if n := bytes.Count(log.Bytes(), []byte("skills not read again")); n != 1 {
		t.Errorf("warned %d times:\n%s", n, log.String())
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

// A file that changes twice within the resolution of its time stamp, without changing its size, is still noticed.
func TestQuickChangesAreNoticed(t *testing.T) {
	dir := t.TempDir()
	bundleDir(t, dir, "one", "Text A.")
	l := mustLoad(t, Dir(SourceProject, dir))
	info, err := os.Stat(dir + "/one/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	bundleDir(t, dir, "one", "Text B.")
	if err := os.Chtimes(dir+"/one/SKILL.md", info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := l.Refresh(); err != nil {
		t.Fatal(err)
	}
	if s, _ := l.Find("one"); s.Description != "Text B." {
		t.Errorf("still %q", s.Description)
	}
}

func TestLibraryIsSafeForConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	bundleDir(t, dir, "one", "x")
	l := mustLoad(t, Dir(SourceProject, dir))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				if s, _ := l.Find("one"); s == nil {
					t.Error("not found")
				}
				if i == 0 && j%10 == 0 {
					if err := l.Refresh(); err != nil {
						t.Error(err)
					}
				}
				l.List()[0] = nil
			}
		})
	}
	wg.Wait()
}

func TestListIsTheCallersOwn(t *testing.T) {
	dir := t.TempDir()
	bundleDir(t, dir, "one", "x")
	l := mustLoad(t, Dir(SourceProject, dir))
	l.List()[0] = nil
	if l.List()[0] == nil {
		t.Error("a caller changed the library")
	}
}

// Only the folders right below a source's that hold a SKILL.md are skills: no deeper one, no link, no other spelling.
func TestScannerLooksOneLevelDown(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	bundleDir(t, outside, "elsewhere", "x")
	bundleDir(t, dir, "b", "x")
	bundleDir(t, dir, "a", "x")
	bundleDir(t, dir, "group/nested", "x")
	bundleDir(t, dir, "a/inner", "x")
	write(t, dir+"/lower/skill.md", goodSkillMD)
	write(t, dir+"/folder/SKILL.md/x", "x")
	write(t, dir+"/broken/SKILL.md", "---\nname: broken\n---\n")
	for link, target := range map[string]string{"linked": outside + "/elsewhere", "within": "a"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	l := mustLoad(t, Dir(SourceProject, dir))
	if diff := cmp.Diff([]string{"a Published project", "b Published project", "broken Blocked project"}, listing(l)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
