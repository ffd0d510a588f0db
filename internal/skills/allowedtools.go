package skills

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxRequired is how many names allowed-tools contributes.
const maxRequired = 32

// keyAllowedTools declares the tools that a skill uses. It grants nothing, and nothing is refused because it is absent.
const keyAllowedTools = "allowed-tools"

var toolName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// allowedTools is what allowed-tools says.
type allowedTools struct {
	raw   string
	names []string
	at    *node
	sound bool // no entry is malformed
}

// requiredTools returns the legal names in the value of allowed-tools, each once in the order in which they come, at most
// 32.
func requiredTools(raw string) []string {
	var out []string
	for _, entry := range strings.Fields(raw) {
		if len(out) == maxRequired {
			break
		}
		if toolName.MatchString(entry) && !slices.Contains(out, entry) {
			out = append(out, entry)
		}
	}
	return out
}

// checkAllowedTools reads the value. A list is not what the format says, but many have one: it counts as its entries
// joined by blanks.
func checkAllowedTools(root *node, r *report) allowedTools {
	n := root.get(keyAllowedTools)
	switch {
	case n == nil:
		return allowedTools{}
	case n.kind == listKind:
		r.soft(n, keyAllowedTools, CodeAllowedTools, "", "%s, got a list", badAllowedTools)
		var entries []string
		for _, it := range n.items {
			if it.kind == stringKind {
				entries = append(entries, it.text)
			}
		}
		raw := strings.Join(entries, " ")
		return allowedTools{raw: raw, names: requiredTools(raw), at: n}
	case n.kind != stringKind:
		r.soft(n, keyAllowedTools, CodeAllowedTools, "", "%s, got %s", badAllowedTools, n.kind)
		return allowedTools{at: n}
	}
	a := allowedTools{raw: n.text, names: requiredTools(n.text), at: n, sound: true}
	for _, entry := range strings.Fields(n.text) {
		if !toolName.MatchString(entry) {
			a.sound = false
			r.soft(n, keyAllowedTools, CodeAllowedTools, "", "Field 'allowed-tools' names '%s', which is not a tool name: expected "+
				"space-separated bare names like read_url; commas, scoped forms and fully-qualified class names are not accepted.", clip(entry, 80))
		}
	}
	return a
}

const badAllowedTools = "Field 'allowed-tools' must be a space-separated string of bare tool names; fully-qualified class names are not accepted"

// checkRequired warns of names that no tool of this host answers to. Where the host cannot tell, and where an entry is
// malformed, nothing is said.
func (c *composer) checkRequired(s *composed) {
	box, ok := c.box.(Namer)
	if !ok || !s.allowed.sound {
		return
	}
	for _, name := range s.allowed.names {
		if found := box.Named(name); found.Missing != "" {
			s.warn(Finding{
				Code: CodeUnknownTool, Severity: SeverityWarning, File: fileSkill, Path: keyAllowedTools,
				Line: s.allowed.at.line, Column: s.allowed.at.column,
				Message: fmt.Sprintf("Field 'allowed-tools' names '%s', and no such tool is installed here.", name),
			})
		}
	}
}
