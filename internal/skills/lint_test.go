package skills

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLint(t *testing.T) {
	dir := t.TempDir()
	bundleDir(t, dir, "good", "Fine.")
	write(t, dir+"/bad/SKILL.md", "---\nname: other\ndescription: x\n---\n")
	write(t, dir+"/bad/skill.yaml", "tags: [a]\ntiggers: [b]\n")
	write(t, dir+"/bad/main.sh", "")
	mismatch := `SKILL.md:2:7: error: Skill 'name' ('other') must equal the parent directory name ('bad'). [NAME_DIR_MISMATCH]`
	typo := `skill.yaml:2:1: error: unknown key "tiggers"; did you mean "triggers"? [UNKNOWN_KEY]`
	for name, tt := range map[string]struct {
		root, dir string
		want      []string
		bundles   int
	}{
		"good":          {dir, "good", []string{}, 1},
		"bad":           {dir, "bad", []string{mismatch, typo}, 1},
		"name unknown":  {dir + "/bad", ".", []string{typo}, 1},
		"all below":     {dir, ".", []string{"bad/" + mismatch, "bad/" + typo}, 2},
		"nothing there": {dir, "good/scripts", []string{"SKILL.md: error: no SKILL.md here, nor in a folder below; a skill is a folder with a SKILL.md [SKILL_MD_MISSING]"}, 0},
		"no folder":     {dir, "none", []string{"SKILL.md: error: no SKILL.md here, nor in a folder below; a skill is a folder with a SKILL.md [SKILL_MD_MISSING]"}, 0},
		"bad path":      {dir, "../x", []string{"../x: error: invalid argument [SKILL_MD_MISSING]"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			found, bundles := Lint(os.DirFS(tt.root), tt.dir, LintOptions{})
			if bundles != tt.bundles {
				t.Errorf("%d bundles, want %d", bundles, tt.bundles)
			}
			if diff := cmp.Diff(tt.want, texts(found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLintManyFindings(t *testing.T) {
	yaml := ""
	for i := range 500 {
		yaml += "k" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ": 1\n"
	}
	got, _ := Lint(fstest.MapFS{"x/SKILL.md": {Data: []byte("---\nname: x\ndescription: y\n---\n")}, "x/skill.yaml": {Data: []byte(yaml)}}, "x", LintOptions{})
	if len(got) != maxFindings+1 {
		t.Fatalf("%d findings", len(got))
	}
}

func TestClosest(t *testing.T) {
	names := []string{"triggers", "tags", "tools", "timeout_seconds", "cpu"}
	for word, want := range map[string]string{
		"tiggers": "triggers", "trigger": "triggers", "tag": "tags", "tgas": "tags", "timeout": "", "timeout_second": "timeout_seconds",
		"cpus": "cpu", "xyz": "", "": "", "t": "",
	} {
		if got := closest(word, names); got != want {
			t.Errorf("closest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistanceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-d]{0,8}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) {
			t.Fatalf("not symmetric: %d and %d", d, distance(b, a))
		}
		if (d == 0) != (a == b) {
			t.Fatalf("distance %d", d)
		}
		if d > max(len(a), len(b)) || d < max(len(a), len(b))-min(len(a), len(b)) {
			t.Fatalf("distance %d out of bounds", d)
		}
		if distance(a, a+"x") != 1 || distance("x"+a, a) != 1 {
			t.Fatal("one letter more is not one step")
		}
	})
}

func TestLintLooksToolsUp(t *testing.T) {
	fsys := mapFS("a/SKILL.md", "---\nname: a\ndescription: x\n---\n", "a/main.py", "pass\n",
		"a/skill.yaml", "includes: [nobody]\ntools: [reader, bash, 'skill:nobody']\ntoolkits: [web, 'mcp:files']\n")
	found, _ := Lint(fsys, "a", LintOptions{Tools: &testBox{}})
	want := []string{
		`skill.yaml:2:17: error: tools[1]: this host has no tool "bash" [TOOL_MISSING]`,
		`skill.yaml:3:12: error: toolkits[0]: this host has no toolkit "web" [TOOLKIT_MISSING]`,
		`skill.yaml:3:17: error: toolkits[1]: "mcp:files/write" writes, and this skill is read-only: set writes: true, or do without it [READ_ONLY_WRITES]`,
	}
	if diff := cmp.Diff(want, texts(found)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found, _ := Lint(fsys, "a", LintOptions{}); len(found) > 0 {
		t.Errorf("without a box: %q", texts(found))
	}
}

// A whole checkout can be checked: skills are found wherever they lie, but not within other skills.
func TestLintSearches(t *testing.T) {
	bad := "---\nname: x\n---\n"
	fsys := mapFS("skills/a/SKILL.md", bad, "skills/a/inner/SKILL.md", bad, "packages/tool/skills/b/SKILL.md", bad,
		".agents/skills/c/SKILL.md", bad, ".git/d/SKILL.md", bad, ".cache/skills.txt", "x", "1/2/3/4/5/6/SKILL.md", bad, "1/2/3/4/5/too/deep/SKILL.md", bad)
	found, bundles := Lint(fsys, ".", LintOptions{})
	var files []string
	for _, f := range found {
		if f.Code == CodeDescriptionRequired {
			files = append(files, f.File)
		}
	}
	want := []string{".agents/skills/c/SKILL.md", "1/2/3/4/5/6/SKILL.md", "packages/tool/skills/b/SKILL.md", "skills/a/SKILL.md"}
	if diff := cmp.Diff(want, files); diff != "" || bundles != len(want) {
		t.Errorf("%d bundles (-want +got):\n%s", bundles, diff)
	}
}
