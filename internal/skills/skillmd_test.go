package skills

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSkillMDFindings(t *testing.T) {
	const d = "description: Does it. Use for it.\n"
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"good":            {"---\nname: hello\n" + d + "---\nBody", []string{}},
		"bom and crlf":    {"\uFEFF---\r\nname: hello\r\ndescription: x\r\n---\r\nBody\r\n", []string{}},
		"no body":         {"---\nname: hello\n" + d + "---", []string{}},
		"everything":      {"---\nname: hello\n" + d + "license: MIT\ncompatibility: \"\"\nmetadata: {version: \"2.0\"}\nallowed-tools: agent read_url\n---\n", []string{}},
		"empty file":      {"", []string{`SKILL.md:1:1: error: no frontmatter: expected a line --- at the very start and another one after the YAML [SKILL_FRONTMATTER_MISSING]`}},
		"no frontmatter":  {"# Hello\n", []string{`SKILL.md:1:1: error: no frontmatter: expected a line --- at the very start and another one after the YAML [SKILL_FRONTMATTER_MISSING]`}},
		"not at the top":  {"\n---\nname: hello\n---\n", []string{`SKILL.md:1:1: error: no frontmatter: expected a line --- at the very start and another one after the YAML [SKILL_FRONTMATTER_MISSING]`}},
		"unclosed":        {"---\nname: hello\n", []string{`SKILL.md:1:1: error: no frontmatter: expected a line --- at the very start and another one after the YAML [SKILL_FRONTMATTER_MISSING]`}},
		"empty":           {"---\n---\nBody", []string{`SKILL.md:1:1: error: SKILL.md frontmatter is empty. [EMPTY_FRONTMATTER]`}},
		"only a comment":  {"---\n# x\n---\nBody", []string{`SKILL.md:1:1: error: SKILL.md frontmatter is empty. [EMPTY_FRONTMATTER]`}},
		"a list":          {"---\n- a\n---\n", []string{`SKILL.md:2:1: error: frontmatter: expected a mapping (key: value), got a list [SKILL_FRONTMATTER_MISSING]`}},
		"alias":           {"---\nname: hello\n" + d + "license: *x\n---\n", []string{`SKILL.md:4:10: error: frontmatter: anchors, aliases and merge keys (&, *, <<) are not allowed; write the value out [SKILL_FRONTMATTER_MISSING]`}},
		"name missing":    {"---\n" + d + "---\n", []string{`SKILL.md:2:1: error: Field 'name' is required. [NAME_REQUIRED]`}},
		"name empty":      {"---\nname: \"\"\n" + d + "---\n", []string{`SKILL.md:2:7: error: Field 'name' must be a non-empty string. [NAME_INVALID]`}},
		"name a number":   {"---\nname: 1\n" + d + "---\n", []string{`SKILL.md:2:7: error: Field 'name' must be a non-empty string. [NAME_INVALID]`}},
		"name mismatch":   {"---\nname: other\n" + d + "---\n", []string{`SKILL.md:2:7: error: Skill 'name' ('other') must equal the parent directory name ('hello'). [NAME_DIR_MISMATCH]`}},
		"description":     {"---\nname: hello\n---\n", []string{`SKILL.md:2:1: error: Field 'description' is required. [DESCRIPTION_REQUIRED]`}},
		"blank text":      {"---\nname: hello\ndescription: \" \"\n---\n", []string{`SKILL.md:3:14: error: Field 'description' must be a non-empty string. [DESCRIPTION_INVALID]`}},
		"1024 characters": {"---\nname: hello\ndescription: " + strings.Repeat("é", 1024) + "\n---\n", []string{}},
		"1025 characters": {"---\nname: hello\ndescription: " + strings.Repeat("é", 1025) + "\n---\n", []string{`SKILL.md:3:14: error: Field 'description' is 1025 characters; max is 1024. [DESCRIPTION_TOO_LONG]`}},
		"unknown key":     {"---\nname: hello\n" + d + "licence: MIT\n---\n", []string{`SKILL.md:4:1: error: Unknown frontmatter field 'licence'. Did you mean "license"? [UNKNOWN_TOP_LEVEL_KEY]`}},
		"sidecar's key":   {"---\nname: hello\n" + d + "triggers: [a]\n---\n", []string{`SKILL.md:4:1: error: Unknown frontmatter field 'triggers'. It belongs in skill.yaml. [UNKNOWN_TOP_LEVEL_KEY]`}},
		"license":         {"---\nname: hello\n" + d + "license: [MIT]\n---\n", []string{`SKILL.md:4:10: error: Field 'license' must be a string. [LICENSE_INVALID]`}},
		"compatibility":   {"---\nname: hello\n" + d + "compatibility: " + strings.Repeat("x", 501) + "\n---\n", []string{`SKILL.md:4:16: error: Field 'compatibility' is 501 characters; max is 500. [COMPATIBILITY_TOO_LONG]`}},
		"metadata":        {"---\nname: hello\n" + d + "metadata: x\n---\n", []string{`SKILL.md:4:11: error: Field 'metadata' must be an object of string keys to string values. [METADATA_INVALID]`}},
		"metadata values": {"---\nname: hello\n" + d + "metadata:\n  version: 1.0\n  list: [a]\n---\n", []string{
			`SKILL.md:6:9: error: Field 'metadata' must be an object of string keys to string values. metadata.list is a list. [METADATA_VALUE_INVALID]`}},
		"allowed tools": {"---\nname: hello\n" + d + "allowed-tools: Bash(git:*) agent, read_url\n---\n", []string{
			`SKILL.md:4:16: error: Field 'allowed-tools' names 'Bash(git:*)', which is not a tool name: expected space-separated bare names like read_url; commas, scoped forms and fully-qualified class names are not accepted. [ALLOWED_TOOLS_INVALID]`,
			`SKILL.md:4:16: error: Field 'allowed-tools' names 'agent,', which is not a tool name: expected space-separated bare names like read_url; commas, scoped forms and fully-qualified class names are not accepted. [ALLOWED_TOOLS_INVALID]`}},
		"long body": {"---\nname: hello\n" + d + "---\n" + strings.Repeat("x\n", 600), []string{
			`SKILL.md:5:1: warning: SKILL.md body is 601 lines / 1200 bytes; keep it below 500 lines and 50000 bytes, and move the rest into references/ files. [SKILL_BODY_OVERSIZE]`}},
	} {
		t.Run(name, func(t *testing.T) {
			sk := load(mapFS("SKILL.md", tt.text, "main.py", ""), "hello", reading{profile: Strict}).skill
			if diff := cmp.Diff(tt.want, texts(sk.Findings)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if sk.Name != "hello" {
				t.Errorf("name %q", sk.Name)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for name, good := range map[string]bool{
		"a": true, "1": true, "code-review": true, "a-b-c": true, strings.Repeat("a", 64): true,
		"": false, "-a": false, "a-": false, "a--b": false, "A": false, "a_b": false, "a b": false, "é": false,
		"a\n": false, strings.Repeat("a", 65): false, "../x": false,
	} {
		if got := ValidName(name); got != good {
			t.Errorf("ValidName(%q) = %t", name, got)
		}
	}
	r := &report{}
	readSkillMD("---\nname: a--B\ndescription: x\n---\n", "", r)
	want := []string{
		`SKILL.md:2:7: error: Field 'name' ('a--B') must not contain consecutive hyphens. [NAME_CONSECUTIVE_HYPHEN]`,
		`SKILL.md:2:7: error: Field 'name' ('a--B') must be 1 to 64 of a-z, 0-9 and single hyphens, without a hyphen at either end. [NAME_PATTERN]`,
	}
	if diff := cmp.Diff(want, texts(r.findings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSkillMDContent(t *testing.T) {
	sk := load(mapFS("SKILL.md", "\uFEFF---\r\nname: hello\r\ndescription: >-\r\n  Says hello.\r\n  Use it.\r\nlicense: MIT\r\nmetadata:\r\n  version: 1.10\r\n---\r\n\r\n\r\n# Title\r\n---\r\nrest\r\n", "main.py", ""), "hello", reading{}).skill
	if sk.Description != "Says hello. Use it." || sk.License != "MIT" || sk.Version != "1.10" || sk.WhenToUse != sk.Description {
		t.Errorf("description %q, license %q, version %q, when %q", sk.Description, sk.License, sk.Version, sk.WhenToUse)
	}
	if want := "# Title\n---\nrest\n"; sk.Instructions != want {
		t.Errorf("body %q, want %q", sk.Instructions, want)
	}
}
