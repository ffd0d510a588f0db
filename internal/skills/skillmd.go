package skills

import (
	"regexp"
	"strings"
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
	name          string
	description   string
	license       string
	compatibility string
	metadata      map[string]string
	allowed       allowedTools
	body          string
}

// readSkillMD reads SKILL.md and checks it. The name is empty when it cannot be used; folder is what it must equal, ""
// when that is not known.
func readSkillMD(text, folder string, r *report) frontmatter {
	missing := func(line, column int, format string, args ...any) {
		r.at(fileSkill, &node{line: line, column: column}, scanPath(folder), SeverityError, CodeFrontmatterMissing, format, args...)
	}
	head, body, ok := splitFrontmatter(text)
	if !ok {
		missing(1, 1, "no frontmatter: expected a line --- at the very start and another one after the YAML")
		return frontmatter{}
	}
	root, err := parseFrontmatter(head, folder, r)
	if err != nil {
		missing(err.line+1, err.column, "frontmatter: %s", err.message)
		return frontmatter{body: body}
	}
	if root == nil || root.kind == mapKind && len(root.fields) == 0 {
		r.at(fileSkill, &node{line: 1, column: 1}, "", SeverityError, CodeFrontmatterEmpty, "SKILL.md frontmatter is empty.")
		return frontmatter{body: body}
	}
	if root.kind != mapKind {
		missing(2, 1, "frontmatter: expected a mapping (key: value), got %s", root.kind)
		return frontmatter{body: body}
	}
	shift(root)
	f := frontmatter{body: body}
	checkKeys(root, r)
	f.name = checkName(root, folder, r)
	f.description = checkDescription(root, r)
	f.license = checkLicense(root, r)
	f.compatibility = checkCompatibility(root, r)
	f.metadata = checkMetadata(root, r)
	f.allowed = checkAllowedTools(root, r)
	checkBody(body, lineBreaks(head)+3, r)
	return f
}

// scanPath is how findings about a whole SKILL.md name it.
func scanPath(folder string) string {
	if folder == "" {
		return fileSkill
	}
	return clip(folder, 80) + "/" + fileSkill
}

// parseFrontmatter reads the YAML. The lenient profile takes "key: one: two" for what was meant, a text with a colon.
func parseFrontmatter(head, folder string, r *report) (*node, *yamlError) {
	root, err := parseYAML(head)
	if err == nil || r.profile == Strict {
		return root, err
	}
	quoted, changed := quoteColons(head)
	if !changed {
		return root, err
	}
	again, still := parseYAML(quoted)
	if still != nil || again == nil || again.kind != mapKind {
		return root, err
	}
	r.soft(&node{line: err.line + 1, column: err.column}, scanPath(folder), CodeFrontmatterMissing,
		"The text was taken as it stands: quote it.", "frontmatter: %s", err.message)
	return again, nil
}

var bareKey = regexp.MustCompile(`^[A-Za-z$][A-Za-z0-9_-]*$`)

// quoteColons quotes the plain texts of top-level keys that have a colon in them.
func quoteColons(head string) (string, bool) {
	lines := strings.Split(head, "\n")
	changed := false
	for i, line := range lines {
		key, value, ok := strings.Cut(line, ": ")
		value = strings.TrimSpace(value)
		if !ok || !bareKey.MatchString(key) || !strings.Contains(value, ":") || strings.ContainsAny(value[:1], "\"'[{|>&*!%@`#") {
			continue
		}
		lines[i] = key + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
		changed = true
	}
	return strings.Join(lines, "\n"), changed
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

// splitFrontmatter takes the YAML between the first line, which must be ---, and the next line that begins with ---.
func splitFrontmatter(text string) (head, body string, ok bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", "", false
	}
	for at := 0; at < len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if after, closes := strings.CutPrefix(line, "---"); closes {
			body = rest[at+len(line)-len(strings.TrimLeft(after, " \t")):]
			return strings.ReplaceAll(rest[:at], "\r", "\n"), strings.TrimLeft(body, "\n"), true // each ends a line of YAML
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return "", "", false
}
