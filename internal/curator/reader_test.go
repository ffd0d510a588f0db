package curator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

func (r *rig) put(t *testing.T, name, content string) {
	t.Helper()
	r.disk[name] = &fstest.MapFile{Data: []byte(content)}
	if err := r.lib.Refresh(); err != nil {
		t.Fatal(err)
	}
}

// A shipped skill is read as it is on disk: its body without the frontmatter, its files verbatim.
func TestAShippedSkillIsRead(t *testing.T) {
	r := newRig(t)
	const md = "---\nname: full\ndescription: Everything.\nlicense: MIT\ncompatibility: any\nallowed-tools: agent read_url agent Bad\n" +
		"metadata:\n  version: \"2.0\"\n  n: 1\n---\n\n\n# Body\r\n"
	r.put(t, "full/SKILL.md", md)
	r.put(t, "full/b.md", "\r\nB\xef\xbb\xbf")
	r.put(t, "full/.dot", "hidden")
	r.put(t, "full/a/deep.md", "---\nx: y\n---\ndeep")
	d, err := r.Skill(t.Context(), nobody, " Full\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	want := &catalog.Detail{
		Summary: catalog.Summary{
			Name: "full", Slug: "full", Description: "Everything.", Source: "project", License: "MIT", Files: 3, HasWarnings: true,
			RequiredTools: []string{"agent", "read_url"}, Version: "2.0", Status: "Published", Digest: d.Digest,
		},
		Compatibility: "any", Metadata: map[string]string{"version": "2.0", "n": "1"}, AllowedTools: "agent read_url agent Bad", Body: "# Body\n",
		Files:    []catalog.File{{Path: "SKILL.md", Bytes: int64(len(md))}, {Path: "a/deep.md", Bytes: 17}, {Path: "b.md", Bytes: 6}},
		Warnings: d.Warnings, Frontmatter: d.Frontmatter, Digest: d.Digest, BundleFS: d.BundleFS,
	}
	if diff := cmp.Diff(want, d, cmp.FilterValues(func(a, b fs.FS) bool { return true }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	var codes []string
	for _, f := range d.Warnings {
		codes = append(codes, f.Code+" "+f.Severity)
	}
	if !cmp.Equal(codes, []string{"ALLOWED_TOOLS_INVALID error", "METADATA_VALUE_INVALID error"}) {
		t.Errorf("%v", codes)
	}
	if d.Frontmatter["name"] != "full" || len(d.Frontmatter) != 6 || len(d.Digest) != 64 {
		t.Errorf("%v, %s", d.Frontmatter, d.Digest)
	}
	for path, content := range map[string]string{"SKILL.md": md, "b.md": "\r\nB\xef\xbb\xbf", "a/deep.md": "---\nx: y\n---\ndeep"} {
		for _, slug := range []string{"full", " FULL "} {
			if got, err := r.File(t.Context(), nobody, slug, path, 0); string(got) != content || err != nil {
				t.Errorf("%s: %q, %v", path, got, err)
			}
		}
		if got, err := fs.ReadFile(d.BundleFS, path); string(got) != content || err != nil {
			t.Errorf("%s in the bundle: %q, %v", path, got, err)
		}
	}
}

// Whatever keeps a file from being read, the answer is the same.
func TestFilesThatCannotBeRead(t *testing.T) {
	r := newRig(t)
	r.put(t, "big/SKILL.md", "---\nname: big\ndescription: Big.\n---\n")
	r.put(t, "big/cap.md", strings.Repeat("x", 50_000))
	r.put(t, "big/over.md", strings.Repeat("x", 50_001))
	r.put(t, "big/dir/x.md", "x")
	r.disk["big/link"] = &fstest.MapFile{Data: []byte("cap.md"), Mode: fs.ModeSymlink}
	r.create(t, alice, 0, withFiles(draft("mine"), "dir/x.md", "x"))
	for _, slug := range []string{"big", "mine", "none"} {
		for _, path := range []string{
			"", ".", "..", "../SKILL.md", "/etc/passwd", "/SKILL.md", "dir", "dir/", "dir/../SKILL.md", "dir//x.md", "./SKILL.md", `dir\x.md`, "SKILL.md\x00",
			"skill.md", "none.md", "over.md", "link", ".dot", "dir/x.md/y", "\xff", strings.Repeat("a/", 5000) + "a",
		} {
			_, err := r.File(t.Context(), alice, slug, path, 0)
			want := refuse(catalog.SkillFileNotFound, "Skill '%s' has no file '%s'.", slug, shown(path))
			if fmt.Sprint(err) != fmt.Sprint(want) {
				t.Errorf("%s %q: %v", slug, path, err)
			}
		}
	}
	if got, err := r.File(t.Context(), alice, "big", "cap.md", 0); len(got) != 50_000 || err != nil {
		t.Errorf("%d, %v", len(got), err)
	}
	if d, err := r.Skill(t.Context(), alice, "big", 0); err != nil || len(d.Files) != 4 {
		t.Errorf("what is too large is listed: %+v, %v", d, err)
	}
}

// On the routes of custom skills a file that is too large is told from one that is not there. None gets in that way: it
// would be from another version.
func TestACustomFileThatIsTooLarge(t *testing.T) {
	r := newRig(t)
	s := r.create(t, alice, 0, draft("notes"))
	old, err := r.store.CustomSkill(t.Context(), s.Principal, "notes")
	if err != nil {
		t.Fatal(err)
	}
	next := old
	next.Content.Files = map[string]string{"over.md": strings.Repeat("x", 50_001)}
	if _, err := r.store.ReplaceCustomSkill(t.Context(), self(alice), next, old.Content); err != nil {
		t.Fatal(err)
	}
	_, err = r.Read(t.Context(), alice, 0, "notes", "over.md")
	refused(t, err, catalog.FileTooLarge)
	_, err = r.again(t).File(t.Context(), alice, "notes", "over.md", 0)
	refused(t, err, catalog.SkillFileNotFound)
}

// A skill that can't be used is listed and says why, each copy of a name has a row of its own.
func TestBrokenSkillsAreListed(t *testing.T) {
	r := newRig(t)
	r.put(t, "Bad_Name/SKILL.md", "no frontmatter")
	sums, err := r.Skills(t.Context(), nobody, 0)
	if err != nil || len(sums) != 3 || sums[0].Name != "Bad_Name" || !sums[0].HasWarnings || sums[0].Status != "Blocked" {
		t.Errorf("%+v, %v", sums, err)
	}
	d, err := r.Skill(t.Context(), nobody, "Bad_Name", 0)
	if err != nil || d.Warnings[0].Code != skills.CodeFrontmatterMissing || d.Warnings[0].Path != "Bad_Name/SKILL.md" {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = r.Skill(t.Context(), nobody, "nope", 0)
	if fmt.Sprint(err) != "SKILL_NOT_FOUND: Skill 'nope' not found." {
		t.Error(err)
	}
}

// A principal narrows what is listed; one that can't be seen leaves what is shipped, as if there were none of that number.
func TestAPrincipalNarrowsTheListing(t *testing.T) {
	r := newRig(t)
	team := r.group(t, admin)
	r.create(t, admin, team, draft("shared"))
	mine := r.create(t, admin, 0, draft("own")).Principal
	his := r.create(t, bob, 0, draft("his")).Principal
	shipped := []string{"time-arithmetic", "word-count"}
	for principal, custom := range map[int64][]string{0: {"own", "shared"}, -1: {"own", "shared"}, team: {"shared"}, mine: {"own"}, his: nil, 1 << 40: nil} {
		sums, err := r.Skills(t.Context(), admin, principal)
		var got []string
		for _, s := range sums {
			got = append(got, s.Name)
		}
		want := slices.Sorted(slices.Values(append(slices.Clone(shipped), custom...)))
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%d: %v\n%s", principal, err, d)
		}
		for _, name := range []string{"own", "shared", "his", "word-count"} {
			want := catalog.Code("")
			if !slices.Contains(got, name) {
				want = catalog.SkillNotFound
			}
			_, err := r.Skill(t.Context(), admin, name, principal)
			refused(t, err, want)
		}
	}
}

// gate lets an agent use what it names.
type gate map[string][]string

func (g gate) Gate(_ context.Context, who a2e.Caller) (func(string) bool, error) {
	allowed, ok := g[who.Agent]
	switch {
	case who.Agent == "broken":
		return nil, errors.New("no allowlist")
	case !ok:
		return nil, nil
	}
	return func(name string) bool { return slices.Contains(allowed, name) }, nil
}

func (gate) Group(context.Context, a2e.Caller) (string, error) { return "", nil }

func (gate) Version() uint64 { return 7 }

// What can be called is published, visible and allowed; skills that run in this process are there too.
func TestCallable(t *testing.T) {
	r := newRig(t, "*")
	r.ship("archived", "status: Archived\n")
	r.put(t, "broken/SKILL.md", "nothing")
	r.Plugins = []a2e.Plugin{hosts{"skill", "skill-catalog"}, hosts{"greet", "wave"}}
	before := r.Version()
	r.Gate = gate{"reviewer": {"notes", "word-count", "his", "archived", "greet"}, "idle": {}}
	if r.Version() != before+7 {
		t.Errorf("version %d after %d", r.Version(), before)
	}
	r.create(t, alice, 0, withFiles(draft("notes"), "skill.yaml", "writes: true\noutput_modes: [text/plain]\n"))
	r.create(t, bob, 0, draft("his"))
	hosted := []string{"skill", "skill-catalog"}
	for agent, want := range map[string][]string{
		"":        {"notes", "time-arithmetic", "word-count", "greet", "wave"},
		"unknown": {"notes", "time-arithmetic", "word-count", "greet", "wave"}, "reviewer": {"notes", "word-count", "greet"}, "idle": {},
	} {
		who := alice
		who.Agent = agent
		entries, err := r.Callable(t.Context(), who)
		got := map[string]catalog.Entry{}
		for _, e := range entries {
			got[e.Definition.Name] = e
		}
		if d := cmp.Diff(slices.Sorted(slices.Values(append(slices.Clone(want), hosted...))), slices.Sorted(maps.Keys(got))); d != "" || err != nil {
			t.Errorf("%q: %v\n%s", agent, err, d)
		}
		if !slices.IsSortedFunc(entries, func(a, b catalog.Entry) int { return strings.Compare(a.Definition.Name, b.Definition.Name) }) {
			t.Errorf("%q: not by name", agent)
		}
		for name, e := range got {
			if e.Hosted != (slices.Contains(hosted, name) || name == "greet" || name == "wave") || e.Shared != (name != "notes") || e.ReadOnly != (name == "time-arithmetic") && !e.Hosted {
				t.Errorf("%q: %+v", name, e)
			}
		}
		if slices.Contains(want, "notes") && !cmp.Equal(got["notes"].OutputModes, []string{"text/plain"}) {
			t.Errorf("%+v", got["notes"])
		}
	}
	who := alice
	who.Agent = "broken"
	if _, err := r.View(t.Context(), who); err == nil {
		t.Error("without an allowlist that can be read everything is allowed")
	}
}

// The version tells of changes on disk and in the store.
func TestTheVersionChanges(t *testing.T) {
	r := newRig(t)
	last := r.Version()
	changed := func(what string) {
		t.Helper()
		if now := r.Version(); now == last {
			t.Errorf("%s changes nothing", what)
		} else {
			last = now
		}
	}
	if r.Version() != last {
		t.Error("it changes by itself")
	}
	r.create(t, alice, 0, draft("notes"))
	changed("a new skill")
	if _, err := r.Update(t.Context(), alice, 0, "notes", catalog.AnyRevision, catalog.Draft{Body: ptr("b")}); err != nil {
		t.Fatal(err)
	}
	changed("an update")
	r.put(t, "more/SKILL.md", "---\nname: more\ndescription: More.\n---\n")
	changed("a skill on disk")
	if _, err := r.Delete(t.Context(), alice, 0, "notes", catalog.AnyRevision); err != nil {
		t.Fatal(err)
	}
	changed("a deletion")
}
