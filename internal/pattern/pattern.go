package pattern

import (
	"slices"
	"strings"
)

// Match reports whether a pattern stands for a name.
func Match(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}

// Any reports whether one of some patterns stands for a name.
func Any(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return Match(p, name) })
}

// Group is how the pattern of a group begins.
const Group = "group:"

// Principal reports whether a pattern stands for a principal: alice, group:team, or either with a * for any text; a * alone
// is everybody. A user whose name begins like a group's, or who has none, is named by no pattern but that.
func Principal(pattern string, group bool, name string) bool {
	if pattern == "*" {
		return true
	}
	team, isGroup := strings.CutPrefix(pattern, Group)
	if isGroup {
		return group && Match(team, name)
	}
	return !group && name != "" && !strings.HasPrefix(name, Group) && Match(pattern, name)
}
