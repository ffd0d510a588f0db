package skills

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// codeCase is a SKILL.md that has one thing wrong, and what is said of it.
type codeCase struct {
	text     string
	code     string
	severity Severity // as the format documents it
	path     string
	message  string
	lenient  Severity // in the lenient profile
}

const about = "description: Does it. Use for it.\n"

// codeCases has the codes that the format's validators know about the frontmatter and the body.
func codeCases() map[string]codeCase {
	md := func(front, body string) string { return "---\n" + front + "---\n" + body }
	ok := "name: hello\n" + about
	const object = "Field 'metadata' must be an object of string keys to string values."
	return map[string]codeCase{
		"EMPTY_FRONTMATTER":     {md("", "Body"), CodeFrontmatterEmpty, "error", "", "SKILL.md frontmatter is empty.", "error"},
		"UNKNOWN_TOP_LEVEL_KEY": {md(ok+"argument-hint: x\n", ""), CodeUnknownTopLevelKey, "error", "argument-hint", "Unknown frontmatter field 'argument-hint'.", "warning"},
		"NAME_REQUIRED":         {md(about, ""), CodeNameRequired, "error", "name", "Field 'name' is required.", "error"},
		"NAME_INVALID":          {md("name: 7\n"+about, ""), CodeNameInvalid, "error", "name", "Field 'name' must be a non-empty string.", "error"},
		"NAME_DIR_MISMATCH":     {md("name: other\n"+about, ""), CodeNameDirMismatch, "error", "name", "Skill 'name' ('other') must equal the parent directory name ('hello').", "error"},
		"DESCRIPTION_REQUIRED":  {md("name: hello\n", ""), CodeDescriptionRequired, "error", "description", "Field 'description' is required.", "error"},
		"DESCRIPTION_INVALID":   {md("name: hello\ndescription: [a]\n", ""), CodeDescriptionInvalid, "error", "description", "Field 'description' must be a non-empty string.", "error"},
		"DESCRIPTION_TOO_LONG":  {md("name: hello\ndescription: "+strings.Repeat("é", 1025)+"\n", ""), CodeDescriptionTooLong, "error", "description", "Field 'description' is 1025 characters; max is 1024.", "warning"},
		"LICENSE_INVALID":       {md(ok+"license: 1\n", ""), CodeLicenseInvalid, "error", "license", "Field 'license' must be a string.", "warning"},
		"COMPATIBILITY_INVALID": {md(ok+"compatibility: true\n", ""), CodeCompatInvalid, "error", "compatibility", "Field 'compatibility' must be a string.", "warning"},
		"COMPATIBILITY_TOO_LONG": {md(ok+"compatibility: "+strings.Repeat("ü", 501)+"\n", ""), CodeCompatTooLong, "error", "compatibility",
			"Field 'compatibility' is 501 characters; max is 500.", "warning"},
		"METADATA_INVALID":                {md(ok+"metadata: [a]\n", ""), CodeMetadataInvalid, "error", "metadata", object, "warning"},
		"METADATA_INVALID nothing":        {md(ok+"metadata:\n", ""), CodeMetadataInvalid, "error", "metadata", object, "warning"},
		"METADATA_VALUE_INVALID":          {md(ok+"metadata: {version: 1.0, beta: true}\n", ""), CodeMetadataValue, "error", "metadata", object, "warning"},
		"METADATA_VALUE_INVALID nested":   {md(ok+"metadata: {version: 1.0, tags: [a]}\n", ""), CodeMetadataValue, "error", "metadata", object, "error"},
		"ALLOWED_TOOLS_INVALID not text":  {md(ok+"allowed-tools: 7\n", ""), CodeAllowedTools, "error", keyAllowedTools, badAllowedTools + ", got a number", "warning"},
		"ALLOWED_TOOLS_INVALID list":      {md(ok+"allowed-tools: [agent]\n", ""), CodeAllowedTools, "error", keyAllowedTools, badAllowedTools + ", got a list", "warning"},
		"ALLOWED_TOOLS_INVALID class":     {md(ok+"allowed-tools: 'Spora\\Tools\\MediaTool'\n", ""), CodeAllowedTools, "error", keyAllowedTools, notTool(`Spora\Tools\MediaTool`), "warning"},
		"ALLOWED_TOOLS_INVALID comma":     {md(ok+"allowed-tools: agent, read_url\n", ""), CodeAllowedTools, "error", keyAllowedTools, notTool("agent,"), "warning"},
		"ALLOWED_TOOLS_INVALID scoped":    {md(ok+"allowed-tools: Bash(git:*)\n", ""), CodeAllowedTools, "error", keyAllowedTools, notTool("Bash(git:*)"), "warning"},
		"SKILL_BODY_OVERSIZE lines":       {md(ok, strings.Repeat("x\n", 500)), CodeBodyOversize, "warning", "body", "SKILL.md body is 501 lines / 1000 bytes; keep it below 500 lines and 50000 bytes, and move the rest into references/ files.", "warning"},
		"SKILL_BODY_OVERSIZE bytes":       {md(ok, strings.Repeat("x", 50_001)), CodeBodyOversize, "warning", "body", "SKILL.md body is 1 lines / 50001 bytes; keep it below 500 lines and 50000 bytes, and move the rest into references/ files.", "warning"},
		"SKILL_FRONTMATTER_MISSING":       {"# Hello\n", CodeFrontmatterMissing, "error", "hello/SKILL.md", "no frontmatter: expected a line --- at the very start and another one after the YAML", "error"},
		"SKILL_FRONTMATTER_MISSING a map": {md("- a\n", ""), CodeFrontmatterMissing, "error", "hello/SKILL.md", "frontmatter: expected a mapping (key: value), got a list", "error"},
	}
}

func notTool(entry string) string {
	return "Field 'allowed-tools' names '" + entry + "', which is not a tool name: expected space-separated bare names like read_url; " +
		"commas, scoped forms and fully-qualified class names are not accepted."
}

// Every code has the severity, the path and the message of the format in the strict profile. In the lenient one what does
// no harm is a warning, and the skill loads.
func TestValidationCodes(t *testing.T) {
	for name, tt := range codeCases() {
		t.Run(name, func(t *testing.T) {
			for profile, severity := range map[Profile]Severity{Strict: tt.severity, Lenient: tt.lenient} {
				sk := load(mapFS("SKILL.md", tt.text, "main.py", ""), "hello", reading{profile: profile}).skill
				if len(sk.Findings) != 1 {
					t.Fatalf("profile %d: %q", profile, texts(sk.Findings))
				}
				f := sk.Findings[0]
				got := []string{f.Code, string(f.Severity), string(f.Documented()), f.Path, f.Message}
				want := []string{tt.code, string(severity), string(tt.severity), tt.path, tt.message}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("profile %d (-want +got):\n%s", profile, diff)
				}
				if f.Line == 0 || f.File != fileSkill {
					t.Errorf("no place: %+v", f)
				}
				blocked := severity == SeverityError && (profile == Strict || tt.code != CodeMetadataValue)
				if blocked != (sk.Status == Blocked) {
					t.Errorf("profile %d: %s with %s", profile, sk.Status, f)
				}
			}
		})
	}
}

// Each malformed entry is an error of its own; a name with two hyphens breaks two rules.
func TestSeveralFindings(t *testing.T) {
	for name, tt := range map[string]struct {
		front string
		want  []string
	}{
		"entries": {"name: hello\n" + about + "allowed-tools: Bash(git:*) A, 1tool ok\n", []string{CodeAllowedTools, CodeAllowedTools, CodeAllowedTools}},
		"hyphens": {"name: a--b\n" + about, []string{CodeNameHyphens, CodeNamePattern, CodeNameDirMismatch}},
		"pattern": {"name: Hello\n" + about, []string{CodeNamePattern, CodeNameDirMismatch}},
		"newline": {"name: \"hello\\n\"\n" + about, []string{CodeNamePattern, CodeNameDirMismatch}},
		"long":    {"name: " + strings.Repeat("a", 65) + "\n" + about, []string{CodeNamePattern, CodeNameDirMismatch}},
		"keys":    {"hooks: 1\nname: hello\n" + about + "model: x\n", []string{CodeUnknownTopLevelKey, CodeUnknownTopLevelKey}},
	} {
		t.Run(name, func(t *testing.T) {
			sk := load(mapFS("SKILL.md", "---\n"+tt.front+"---\n", "main.py", ""), "hello", reading{profile: Strict}).skill
			var got []string
			for _, f := range sk.Findings {
				got = append(got, f.Code)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What is within the limits has no finding, whatever the number of bytes.
func TestLimitsCountCharacters(t *testing.T) {
	front := "$schema: https://example.org/skill.json\nname: hello\ndescription: " + strings.Repeat("語", 1024) +
		"\nlicense: MIT\ncompatibility: " + strings.Repeat("語", 500) + "\nmetadata: {version: \"1.0\"}\nallowed-tools: >-\n  agent\n  read_url\n"
	body := strings.Repeat("\n", 499)
	sk := load(mapFS("SKILL.md", "---\n"+front+"---\nx"+body, "main.py", ""), "hello", reading{profile: Strict}).skill
	if len(sk.Findings) > 0 || sk.Status != Published {
		t.Errorf("%s %q", sk.Status, texts(sk.Findings))
	}
	empty := load(mapFS("SKILL.md", "---\nname: hello\n"+about+"compatibility: \"\"\n---\n", "main.py", ""), "hello", reading{profile: Strict}).skill
	if len(empty.Findings) > 0 {
		t.Errorf("an empty compatibility: %q", texts(empty.Findings))
	}
}

func TestUnreadableSkillMD(t *testing.T) {
	for name, fsys := range map[string]fs.FS{
		"too large": mapFS("SKILL.md", strings.Repeat("x", maxSkillMD+1)),
		"a folder":  mapFS("SKILL.md/x", ""),
	} {
		sk := load(fsys, "hello", reading{}).skill
		if sk.Name != "hello" || sk.Status != Blocked || sk.Description != "" || len(sk.Findings) == 0 {
			t.Fatalf("%s: %+v", name, sk)
		}
		if f := sk.Findings[0]; f.Code != CodeUnreadable || f.Path != "hello/SKILL.md" || f.Severity != SeverityError {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestRequiredTools(t *testing.T) {
	var many, first []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("tool_%d Bad%d", i, i))
		if i < 32 {
			first = append(first, fmt.Sprintf("tool_%d", i))
		}
	}
	for raw, want := range map[string][]string{
		"agent read_url":                      {"agent", "read_url"},
		"a, b":                                {"b"},
		"read_url,agent":                      nil,
		"Bash(git:*) read_url":                {"read_url"},
		"":                                    nil,
		" \t\n ":                              nil,
		"b a b\na":                            {"b", "a"},
		"Agent 9lives read-url _x a__ a9":     {"a__", "a9"},
		`Spora\Tools\MediaTool plugin:tool x`: {"x"},
		strings.Join(many, " "):               first,
	} {
		if diff := cmp.Diff(want, requiredTools(raw)); diff != "" {
			t.Errorf("%.40q (-want +got):\n%s", raw, diff)
		}
	}
}

// The raw text stays as it was written; a list counts as its entries.
func TestAllowedToolsIsADeclaration(t *testing.T) {
	for name, tt := range map[string]struct {
		yaml, raw string
		names     []string
	}{
		"text":   {"agent read_url agent", "agent read_url agent", []string{"agent", "read_url"}},
		"folded": {">-\n  agent\n  read_url", "agent read_url", []string{"agent", "read_url"}},
		"list":   {"[Read, agent, {a: b}]", "Read agent", []string{"agent"}},
		"scoped": {"Bash(git:*) Read", "Bash(git:*) Read", nil},
		"number": {"7", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			sk := load(mapFS("SKILL.md", "---\nname: hello\n"+about+"allowed-tools: "+tt.yaml+"\n---\n", "main.py", ""), "hello", reading{}).skill
			if sk.AllowedTools != tt.raw || !cmp.Equal(sk.RequiredTools, tt.names) || sk.Status != Published {
				t.Errorf("%q, %q, %s", sk.AllowedTools, sk.RequiredTools, sk.Status)
			}
			if len(sk.Tools)+len(sk.ToolNames) > 0 {
				t.Errorf("it was granted %v", sk.Tools)
			}
		})
	}
}

// namer is a host that has one tool.
type namer struct{ noTools }

func (namer) Named(bare string) Found {
	if bare == "calculator" {
		return Found{}
	}
	return Found{Missing: "no"}
}

func TestUnknownAllowedTools(t *testing.T) {
	const unknown = `SKILL.md:4:16: warning: Field 'allowed-tools' names 'gone', and no such tool is installed here. [ALLOWED_TOOLS_UNKNOWN_TOOL]`
	bad := `SKILL.md:4:16: warning: ` + notTool("Bad") + ` [ALLOWED_TOOLS_INVALID]`
	for name, tt := range map[string]struct {
		value string
		box   Toolbox
		want  []string
	}{
		"known":         {"calculator", namer{}, []string{}},
		"unknown":       {"calculator gone", namer{}, []string{unknown}},
		"malformed too": {"calculator gone Bad", namer{}, []string{bad}},
		"no resolver":   {"calculator gone", nil, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{}
			for path, f := range mapFS("SKILL.md", "---\nname: hello\n"+about+"allowed-tools: "+tt.value+"\n---\n", "main.py", "") {
				files["hello/"+path] = f
			}
			box := tt.box
			if box == nil {
				box = NoTools
			}
			l, err := LoadWith([]Source{{Label: SourceProject, FS: files, Path: "x"}}, box, nil)
			if err != nil {
				t.Fatal(err)
			}
			s, _ := l.Find("hello")
			if diff := cmp.Diff(tt.want, texts(s.Findings)); diff != "" || s.Status != Published {
				t.Errorf("%s (-want +got):\n%s", s.Status, diff)
			}
			found, _ := Lint(files, "hello", LintOptions{Tools: tt.box})
			if diff := cmp.Diff(tt.want, texts(found)); diff != "" {
				t.Errorf("lint (-want +got):\n%s", diff)
			}
		})
	}
}

// A text with a colon that nobody quoted is no YAML. Many have one.
func TestUnquotedColons(t *testing.T) {
	text := "---\nname: hello\ndescription: Use when: somebody asks, it's: fine\nlicense: MIT\n---\nBody"
	sk := load(mapFS("SKILL.md", text, "main.py", ""), "hello", reading{}).skill
	if sk.Description != "Use when: somebody asks, it's: fine" || sk.License != "MIT" || sk.Status != Published {
		t.Errorf("%s: %q %q", sk.Status, sk.Description, texts(sk.Findings))
	}
	if len(sk.Findings) != 1 || sk.Findings[0].Code != CodeFrontmatterMissing || sk.Findings[0].Line != 3 || sk.Findings[0].Documented() != SeverityError {
		t.Errorf("%q", texts(sk.Findings))
	}
	if sk := load(mapFS("SKILL.md", text, "main.py", ""), "hello", reading{profile: Strict}).skill; sk.Status != Blocked || sk.Description != "" {
		t.Errorf("strict: %s %q", sk.Status, sk.Description)
	}
}

func TestSplitFrontmatter(t *testing.T) {
	for text, want := range map[string][2]string{
		"---\na: b\n---\nBody":            {"a: b\n", "Body"},
		"---\na: b\n---   \n\n\nBody\n":   {"a: b\n", "Body\n"},
		"---\na: b\n---":                  {"a: b\n", ""},
		"---\na: b\n--- rest\nBody":       {"a: b\n", "rest\nBody"},
		"---\na: b ---\n---\nBody":        {"a: b ---\n", "Body"},
		"\uFEFF---\r\na: b\r\n---\r\nx\r": {"a: b\n", "x\r"},
		"---\n---\n---\n":                 {"", "---\n"},
	} {
		head, body, ok := splitFrontmatter(text)
		if got := [2]string{head, body}; !ok || got != want {
			t.Errorf("%q: %q, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "---", "---\n", " ---\na: b\n---\n", "\n---\n---\n", "---\na: b\n --- \n", "x---\n---\n"} {
		if _, _, ok := splitFrontmatter(text); ok {
			t.Errorf("%q has a frontmatter", text)
		}
	}
}
