package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/skills"
)

// sources are the names that sources of skills have without being plugins.
func sources() []string {
	return []string{skills.SourceProject, skills.SourceInstalled, skills.SourceCore, skills.SourceUser, "system", "custom", "custom-skills"}
}

// pluginFaults finds plugins whose skills could not be told from others.
func (c *Config) pluginFaults(v *faults) {
	if len(c.Skills.Plugins) > maxListed {
		v.add("skills.plugins", fmt.Sprintf("%d entries, at most %d are allowed", len(c.Skills.Plugins), maxListed))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Skills.Plugins)) {
		switch {
		case slices.Contains(sources(), name):
			v.add("skills.plugins."+name, "this name is taken by a source of skills that is no plugin: choose another")
		case !skills.ValidName(name):
			v.add("skills.plugins."+name, "expected a name of a-z, 0-9 and single hyphens, such as my-plugin")
		case strings.TrimSpace(c.Skills.Plugins[name]) == "":
			v.add("skills.plugins."+name, "expected a folder of skills")
		}
	}
}
