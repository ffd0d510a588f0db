package skills

import (
	"encoding/json"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// A bundle in memory is a bundle like one on disk, with the same digest.
func TestABundleInMemory(t *testing.T) {
	files := map[string]string{"SKILL.md": goodSkillMD, "scripts/main.py": "print('hello')\n", "a/b/c.md": "", "run.sh": "#!/bin/sh\n"}
	mem := Memory(files)
	if err := fstest.TestFS(mem, "SKILL.md", "scripts/main.py", "a/b/c.md", "run.sh"); err != nil {
		t.Error(err)
	}
	disk := mapFS("SKILL.md", goodSkillMD, "scripts/main.py", "print('hello')\n", "a/b/c.md", "")
	disk["run.sh"] = &fstest.MapFile{Data: []byte("#!/bin/sh\n"), Mode: 0o755}
	one, two := ReadPart(mem, "hello", Strict, SourceUser).Skill(), ReadPart(disk, "hello", Strict, SourceUser).Skill()
	if one.Bundle.Digest != two.Bundle.Digest || one.Bundle.Files != 4 || one.Run.Kind != kindPython || one.Source != SourceUser {
		t.Errorf("%+v and %+v", one.Bundle, two.Bundle)
	}
	files["SKILL.md"] = "changed"
	if text, err := fs.ReadFile(one.Bundle.FS, "SKILL.md"); string(text) != goodSkillMD || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func part(yaml string) *Part { return ReadPart(hello(yaml), "hello", Strict, SourceUser) }

func TestPartsInCompany(t *testing.T) {
	lib, err := Load([]Source{{Label: SourceProject, FS: fstest.MapFS{
		"base/SKILL.md":    {Data: []byte("---\nname: base\ndescription: Base.\n---\n")},
		"base/skill.yaml":  {Data: []byte("tools: ['skill:leaf']\n")},
		"leaf/SKILL.md":    {Data: []byte("---\nname: leaf\ndescription: Leaf.\n---\n")},
		"blocked/SKILL.md": {Data: []byte("---\nname: blocked\n---\n")},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string) *Part {
		if s := lib.Lookup(name); s != nil {
			return WholePart(s)
		}
		if name == "other" {
			return ReadPart(mapFS("SKILL.md", "---\nname: other\ndescription: Other.\n---\n", "skill.yaml", "includes: [hello]\n"), "other", Strict, SourceUser)
		}
		return nil
	}
	for yaml, want := range map[string]struct {
		tools []string
		why   string
		alone bool
	}{
		"":                                {nil, "", true},
		"includes: [base]\n":              {[]string{"skill:leaf"}, "", false},
		"tools: ['skill:base']\n":         {[]string{"skill:base"}, "", false},
		"includes: [nowhere]\n":           {nil, `includes: there is no skill "nowhere"`, false},
		"tools: ['skill:blocked']\n":      {[]string{"skill:blocked"}, `tools[0]: skill "blocked" is blocked: SKILL.md:2:1: Field 'description' is required.`, false},
		"includes: [other]\n":             {nil, "includes: hello → other → hello is a cycle", false},
		"tools: [calculator]\n":           {[]string{"calculator"}, `tools[0]: this host has no tool "calculator"`, false},
		"status: Archived\ntags: [one]\n": {nil, "", true},
	} {
		p := part(yaml)
		s := p.Compose(NoTools, find)
		if d := cmp.Diff(want.tools, s.ToolNames); d != "" || s.BlockedWhy != want.why || p.Alone() != want.alone {
			t.Errorf("%q: %q, alone %t\n%s", yaml, s.BlockedWhy, p.Alone(), d)
		}
	}
	blocked := part("").Block(Finding{Code: CodeNoCode, Severity: SeverityError, File: "scripts/main.py", Message: "no code"})
	if s := blocked.Skill(); s.Status != Blocked || s.BlockedWhy != "scripts/main.py: no code" || part("").Skill().Status != Published {
		t.Errorf("%+v", s)
	}
}

func TestFrontmatterAsJSON(t *testing.T) {
	front, body := Frontmatter("---\nname: a\nmetadata:\n  n: 1\n  list: [x]\n---\n\nBody\n")
	want := map[string]any{"name": "a", "metadata": map[string]any{"n": json.Number("1"), "list": []any{"x"}}}
	if d := cmp.Diff(want, front); d != "" || body != "Body\n" {
		t.Errorf("%q\n%s", body, d)
	}
	for text, want := range map[string]string{"no front": "no front", "---\n- a\n---\nB": "B", "---\na: [\n---\nB": "B", "---\n": "---\n"} {
		if front, body := Frontmatter(text); front != nil || body != want {
			t.Errorf("%q: %v, %q", text, front, body)
		}
	}
}

// The version of a library changes with its skills, and not by itself.
func TestTheVersionOfALibrary(t *testing.T) {
	disk := fstest.MapFS{"a/SKILL.md": {Data: []byte("---\nname: a\ndescription: A.\n---\n")}}
	lib, err := Load([]Source{{Label: SourceProject, FS: disk}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := lib.Version()
	if err := lib.Refresh(); err != nil || lib.Version() != v {
		t.Errorf("%d after %d, %v", lib.Version(), v, err)
	}
	disk["b/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: b\ndescription: B.\n---\n")}
	if err := lib.Refresh(); err != nil || lib.Version() == v {
		t.Errorf("%d after %d, %v", lib.Version(), v, err)
	}
	if lib.Lookup(" B ") == nil || lib.Lookup("c") != nil {
		t.Error("lookup")
	}
}
