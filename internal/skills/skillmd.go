package skills

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The files of a bundle that are read here.
const (
	fileSkill   = "SKILL.md"
	fileSidecar = "skill.yaml"
)

const (
	maxSkillMD       = 1 << 20 // bytes of SKILL.md
	maxDescription   = 1024    // code points
	maxCompatibility = 500     // code points
	maxBodyLines     = 500     // beyond: a warning
	maxBodyBytes     = 50_000  // beyond: a warning
)

// frontmatter is what SKILL.md says.
type frontmatter struct {
	name        string
	description string
	license     string
	metadata    map[string]any
	body        string
}

// readSkillMD reads SKILL.md and checks it. The name is empty when it cannot be used; folder is what it must equal, ""
// when that is not known.
func readSkillMD(text, folder string, r *report) frontmatter {
	head, body, ok := splitFrontmatter(text)
	if !ok {
		r.at(fileSkill, &node{line: 1, column: 1}, "", SeverityError, CodeFrontmatterMissing,
			"no frontmatter: expected a line --- at the very start and another one after the YAML")
		return frontmatter{}
	}
	root, err := parseYAML(head)
	if err != nil {
		r.at(fileSkill, &node{line: err.line + 1, column: err.column}, "", SeverityError, CodeFrontmatterMissing,
			"frontmatter: %s", err.message)
		return frontmatter{body: body}
	}
	if root == nil || root.kind == mapKind && len(root.fields) == 0 {
		r.at(fileSkill, &node{line: 1, column: 1}, "", SeverityError, CodeFrontmatterEmpty, "SKILL.md frontmatter is empty.")
		return frontmatter{body: body}
	}
	if root.kind != mapKind {
		r.at(fileSkill, &node{line: 2, column: 1}, "", SeverityError, CodeFrontmatterMissing,
			"frontmatter: expected a mapping (key: value), got %s", root.kind)
		return frontmatter{body: body}
	}
	shift(root)
	f := frontmatter{body: body}
	checkKeys(root, r)
	f.name = checkName(root, folder, r)
	f.description = checkDescription(root, r)
	f.license = checkLicense(root, r)
	checkCompatibility(root, r)
	f.metadata = checkMetadata(root, r)
	checkAllowedTools(root, r)
	checkBody(body, strings.Count(head, "\n")+3, r)
	return f
}

// shift moves the places by the opening line.
func shift(n *node) {
	n.line++
	for _, f := range n.fields {
		f.name.line++
		shift(f.value)
	}
	for _, it := range n.items {
		shift(it)
	}
}

// splitFrontmatter takes the YAML between the first line, which must be ---, and the next line that is ---.
func splitFrontmatter(text string) (head, body string, ok bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", "", false
	}
	for at := 0; at < len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			return rest[:at], strings.TrimLeft(rest[at+len(line):], "\n"), true
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return "", "", false
}

func skillKeys() map[string]setter {
	return map[string]setter{
		"$schema": nil, "name": nil, "description": nil, "license": nil, "compatibility": nil, "metadata": nil,
		"allowed-tools": nil,
	}
}

func checkKeys(root *node, r *report) {
	known := skillKeys()
	for _, f := range root.fields {
		if _, ok := known[f.key]; ok {
			continue
		}
		hint := didYouMean(f.key, known)
		if _, ok := new(decoder).sidecarKeys(new(sidecar))[f.key]; ok {
			hint = "; it belongs in skill.yaml"
		}
		r.at(fileSkill, f.name, clip(f.key, 64), SeverityError, CodeUnknownTopLevelKey,
			"Unknown frontmatter field '%s'%s", clip(f.key, 64), hint)
	}
}

// checkName returns the name if it is one that can be used.
func checkName(root *node, folder string, r *report) string {
	n := root.get("name")
	bad := func(code, format string, args ...any) {
		at := n
		if at == nil {
			at = root
		}
		r.at(fileSkill, at, "name", SeverityError, code, format, args...)
	}
	switch {
	case n == nil:
		bad(CodeNameRequired, "name is required")
		return ""
	case n.kind != stringKind || n.text == "":
		bad(CodeNameInvalid, "name must be a non-empty string")
		return ""
	}
	shown := clip(n.text, 80)
	good := true
	if strings.Contains(n.text, "--") {
		bad(CodeNameHyphens, "name %q must not contain --", shown)
		good = false
	}
	if !validName(n.text) {
		bad(CodeNamePattern, "name %q must be 1 to 64 of a-z, 0-9 and single hyphens, without a hyphen at either end", shown)
		good = false
	}
	if folder != "" && n.text != folder {
		bad(CodeNameDirMismatch, "Skill 'name' ('%s') must equal the parent directory name ('%s').", shown, clip(folder, 80))
		good = false
	}
	if !good {
		return ""
	}
	return n.text
}

func validName(s string) bool {
	if s == "" || len(s) > 64 || strings.Contains(s, "--") || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func checkDescription(root *node, r *report) string {
	n := root.get("description")
	switch {
	case n == nil:
		r.at(fileSkill, root, "description", SeverityError, CodeDescriptionRequired, "description is required")
	case n.kind != stringKind || strings.TrimSpace(n.text) == "":
		r.at(fileSkill, n, "description", SeverityError, CodeDescriptionInvalid, "description must be a non-empty string")
	case utf8.RuneCountInString(n.text) > maxDescription:
		r.at(fileSkill, n, "description", SeverityError, CodeDescriptionTooLong,
			"description has %d characters; the most is %d", utf8.RuneCountInString(n.text), maxDescription)
	default:
		return strings.TrimSpace(n.text)
	}
	return ""
}

func checkLicense(root *node, r *report) string {
	n := root.get("license")
	switch {
	case n == nil:
	case n.kind != stringKind:
		r.at(fileSkill, n, "license", SeverityError, CodeLicenseInvalid, "license must be a string")
	default:
		return n.text
	}
	return ""
}

func checkCompatibility(root *node, r *report) {
	n := root.get("compatibility")
	switch {
	case n == nil:
	case n.kind != stringKind:
		r.at(fileSkill, n, "compatibility", SeverityError, CodeCompatInvalid, "compatibility must be a string")
	case utf8.RuneCountInString(n.text) > maxCompatibility:
		r.at(fileSkill, n, "compatibility", SeverityError, CodeCompatTooLong,
			"compatibility has %d characters; the most is %d", utf8.RuneCountInString(n.text), maxCompatibility)
	}
}

// checkMetadata reads scalars as they are written, so that version: 1.0 stays "1.0".
func checkMetadata(root *node, r *report) map[string]any {
	n := root.get("metadata")
	if n == nil || n.kind == nullKind {
		return nil
	}
	if n.kind != mapKind {
		r.at(fileSkill, n, "metadata", SeverityError, CodeMetadataInvalid, "metadata must be a mapping of strings, got %s", n.kind)
		return nil
	}
	out := make(map[string]any, len(n.fields))
	for _, f := range n.fields {
		path := join("metadata", f.key)
		switch f.value.kind {
		case stringKind:
			out[f.key] = f.value.text
		case listKind, mapKind, nullKind:
			r.at(fileSkill, f.value, path, SeverityError, CodeMetadataValue, "%s must be a string, got %s", path, f.value.kind)
		case intKind, floatKind, boolKind:
			out[f.key] = f.value.text
			r.at(fileSkill, f.value, path, SeverityWarning, CodeMetadataValue,
				"%s is read as the string %q; quote it", path, clip(f.value.text, 32))
		}
	}
	return out
}

var toolName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func checkAllowedTools(root *node, r *report) {
	n := root.get("allowed-tools")
	if n == nil {
		return
	}
	if n.kind != stringKind {
		r.at(fileSkill, n, "allowed-tools", SeverityError, CodeAllowedTools, "allowed-tools must be a space-separated string of tool names")
		return
	}
	for _, entry := range strings.Fields(n.text) {
		if !toolName.MatchString(entry) {
			r.at(fileSkill, n, "allowed-tools", SeverityError, CodeAllowedTools,
				"allowed-tools: '%s' is not a tool name; names are space-separated, and fully-qualified class names are not accepted",
				clip(entry, 80))
		}
	}
}

func checkBody(body string, line int, r *report) {
	lines := strings.Count(body, "\n") + 1
	if lines <= maxBodyLines && len(body) <= maxBodyBytes {
		return
	}
	r.at(fileSkill, &node{line: line}, "body", SeverityWarning, CodeBodyOversize, "%s",
		fmt.Sprintf("the body has %d lines and %d bytes; keep it below %d lines and %d bytes, and move the rest into references/",
			lines, len(body), maxBodyLines, maxBodyBytes))
}
