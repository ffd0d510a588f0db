package curator

import (
	"maps"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/catalog"
)

// codeFile returns the first file by which a skill runs code of its own, or "".
func codeFile(files map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if isCode(name) {
			return name
		}
	}
	return ""
}

func isCode(name string) bool {
	return name == "skill.yaml" || name == "run.py" || strings.HasPrefix(name, "scripts/") ||
		strings.HasPrefix(name, "main.") && !strings.Contains(name, "/")
}

// groupPrefix is how a pattern names a group.
const groupPrefix = "group:"

// mayCode reports whether the operator lets a principal's skills carry code.
func (c *Curator) mayCode(o catalog.Owner) bool {
	return slices.ContainsFunc(c.code, func(pattern string) bool { return Names(pattern, o) })
}

// Names reports whether a pattern stands for a principal: alice, group:team, or either with a * for any text; a * alone is
// everybody. A user whose name begins like a group's is named by no pattern but that.
func Names(pattern string, o catalog.Owner) bool {
	if pattern == "*" {
		return true
	}
	group, isGroup := strings.CutPrefix(pattern, groupPrefix)
	if isGroup {
		return o.Kind == catalog.KindGroup && match(group, o.Name)
	}
	return o.Kind == catalog.KindUser && o.Name != "" && !strings.HasPrefix(o.Name, groupPrefix) && match(pattern, o.Name)
}

// match is a comparison in which * is any text.
func match(pattern, name string) bool {
	head, tail, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, head)
	if !ok {
		return false
	}
	for {
		part, more, again := strings.Cut(tail, "*")
		if !again {
			return strings.HasSuffix(rest, tail)
		}
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest, tail = after, more
	}
}
