package curator

import (
	"maps"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/pattern"
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

// mayCode reports whether the operator lets a principal's skills carry code.
func (c *Curator) mayCode(o catalog.Owner) bool {
	return slices.ContainsFunc(c.code, func(p string) bool { return Names(p, o) })
}

// Names reports whether a pattern stands for a principal, as [pattern.Principal] has it.
func Names(p string, o catalog.Owner) bool {
	return pattern.Principal(p, o.Kind == catalog.KindGroup, o.Name)
}
