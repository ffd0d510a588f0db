package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/skills"
)

// writeFile writes a file below the working folder.
func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What a third party's skill has beyond the format does no harm, unless somebody asks for the letter.
func TestLintProfiles(t *testing.T) {
	b := own(newBench(t, nil))
	writeFile(t, "repo/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\nargument-hint: FILE\nallowed-tools: Read\n---\nRead.\n")
	writeFile(t, "repo/skills/docx/SKILL.md", "---\nname: docx\ndescription: Reads.\n---\nRead.\n")
	writeFile(t, "repo/README.md", "x")
	for _, tt := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"repo"}, 0, []string{"repo/skills/pdf/SKILL.md:4:1: warning: Unknown frontmatter field 'argument-hint'.", "repo: 2 skills checked"}},
		{[]string{"--strict", "repo"}, 1, []string{"repo/skills/pdf/SKILL.md:4:1: error: Unknown frontmatter field 'argument-hint'.", "SKILL.md:5:16: error: Field 'allowed-tools' names 'Read'"}},
		{[]string{"--strict", "repo/skills/docx", "repo/skills/docx/SKILL.md"}, 0, []string{"repo/skills/docx: ok\nrepo/skills/docx: ok\n"}},
		{[]string{"repo/skills/docx", "repo/skills/pdf", "--strict"}, 1, []string{"repo/skills/docx: ok\nrepo/skills/pdf/SKILL.md:4:1: error"}},
	} {
		b.out.Reset()
		if code := b.run(append([]string{"skills", "lint"}, tt.args...)...); code != tt.code {
			t.Errorf("%q: exit %d, want %d", tt.args, code, tt.code)
		}
		for _, want := range tt.want {
			if !strings.Contains(b.out.String(), want) {
				t.Errorf("%q: %s, want %q", tt.args, b.out.String(), want)
			}
		}
	}
	b.out.Reset()
	var found []skills.Finding
	if code := b.run("skills", "lint", "--json", "--strict", "repo"); code != 1 || json.Unmarshal(b.out.Bytes(), &found) != nil || len(found) != 2 {
		t.Errorf("JSON: exit %d, %s", code, b.out.String())
	}
	if f := found[0]; f.Code != skills.CodeUnknownTopLevelKey || f.Line != 4 || f.Column != 1 || f.Path != "argument-hint" {
		t.Errorf("%+v", f)
	}
	if code := b.run("skills", "lint", "repo/README.md"); code != exitUsage {
		t.Errorf("a file: exit %d", code)
	}
}

// Names in allowed-tools that this host has no tool for are told.
func TestLintKnowsTheTools(t *testing.T) {
	b := own(newBench(t, nil))
	writeFile(t, "x/SKILL.md", "---\nname: x\ndescription: y\nallowed-tools: calculator read_url\n---\n")
	if code := b.run("skills", "lint", "--strict", "x"); code != 0 || !strings.Contains(b.out.String(), "names 'read_url', and no such tool is installed here. [ALLOWED_TOOLS_UNKNOWN_TOOL]") {
		t.Errorf("exit %d, %s", code, b.out.String())
	}
}

// A skill that can't be read has its own row, and JSON says what is wrong.
func TestListShowsWhatIsBroken(t *testing.T) {
	b := own(newBench(t, nil))
	writeFile(t, "skills/one/SKILL.md", "---\nname: [\n---\n")
	writeFile(t, "skills/two/SKILL.md", "no frontmatter")
	writeSkill(t, "fine", "status: Archived\n")
	if code := b.run("skills", "list", "--json"); code != 0 {
		t.Fatalf("exit %d: %s", code, b.err.String())
	}
	var rows []listed
	if err := json.Unmarshal(b.out.Bytes(), &rows); err != nil || len(rows) != 2 {
		t.Fatalf("%v: %s", err, b.out.String())
	}
	for _, r := range rows {
		if r.Status != skills.Blocked || r.Why == "" || len(r.Findings) != 1 || r.Findings[0].Code != skills.CodeFrontmatterMissing ||
			r.Findings[0].Path != r.Name+"/SKILL.md" {
			t.Errorf("%+v", r)
		}
	}
}

func TestInit(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			b := own(newBench(t, nil))
			if code := b.run("skills", "init", "my-skill", "--kind", kind); code != 0 {
				t.Fatalf("exit %d: %s", code, b.err.String())
			}
			b.out.Reset()
			if code := b.run("skills", "lint", "--strict", "skills/my-skill"); code != 0 || b.out.String() != "skills/my-skill: ok\n" {
				t.Errorf("lint: exit %d, %s", code, b.out.String())
			}
			b.out.Reset()
			var s shown
			if code := b.run("skills", "show", "my-skill", "--json"); code != 0 || json.Unmarshal(b.out.Bytes(), &s) != nil || s.Run.Kind != kind || s.Definition.Status != "Published" {
				t.Errorf("show: exit %d, %+v", code, s.Run)
			}
			left, err := filepath.Glob("skills/.*")
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
			writeFile(t, "skills/my-skill/SKILL.md", "mine")
			if code := b.run("skills", "init", "my-skill", "--kind", kind); code != exitUsage || !strings.Contains(b.err.String(), "nothing is overwritten") {
				t.Errorf("again: exit %d, %s", code, b.err.String())
			}
			if text, err := os.ReadFile("skills/my-skill/SKILL.md"); err != nil || string(text) != "mine" {
				t.Errorf("overwritten: %q, %v", text, err)
			}
		})
	}
}

func TestInitElsewhere(t *testing.T) {
	b := own(newBench(t, nil))
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"./here"}, 0, "here/SKILL.md"},
		{[]string{"a/b/there"}, 0, "a/b/there/SKILL.md"},
		{[]string{"Bad_Name"}, exitUsage, ""},
		{[]string{".."}, exitUsage, ""},
		{[]string{"a/.."}, exitUsage, ""},
		{[]string{"x", "--kind", "ruby"}, exitUsage, ""},
		{[]string{"x", "--kind", "../scaffold/js"}, exitUsage, ""},
	} {
		if code := b.run(append([]string{"skills", "init"}, tt.args...)...); code != tt.code {
			t.Errorf("%q: exit %d, %s", tt.args, code, b.err.String())
		}
		if _, err := os.Stat(tt.want); tt.want != "" && err != nil {
			t.Error(err)
		}
	}
}

// All sources in their order: the project's folders, what is installed, what is bundled, what plugins bring.
func TestWhereSkillsComeFrom(t *testing.T) {
	b := newBench(t, nil)
	put := func(dir string, names ...string) {
		for _, name := range names {
			writeFile(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: Of "+dir+".\n---\n")
		}
	}
	put("skills", "one")
	put("data/installed", "one", "two")
	put("more", "one", "two", "code-review", "three")
	put("extra", "three", "four")
	writeFile(t, "hotcell.yaml", "data_dir: data\nskills: {plugins: {z-plugin: more, a-plugin: extra, gone: nowhere}}\n")
	if code := b.run("skills", "list", "--json"); code != 0 {
		t.Fatal(b.err.String())
	}
	if want := "skills.plugins.gone: there is no folder nowhere\n"; !strings.HasSuffix(b.err.String(), want) {
		t.Errorf("stderr %q", b.err.String())
	}
	var rows []listed
	if err := json.Unmarshal(b.out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range rows {
		got[r.Name] = r.Source
	}
	want := map[string]string{
		"one": "project", "two": "installed", "code-review": "core", "data-profile": "core", "time-arithmetic": "core",
		"three": "a-plugin", "four": "a-plugin",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
