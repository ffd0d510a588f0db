package tools

import (
	"slices"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/skills"
)

// Permits refuses a skill that declares a tool or a toolkit of a server that the operator keeps from it. It asks no server.
func (b *Box) Permits(skill *skills.Skill) error {
	for _, name := range slices.Concat(skill.ToolNames, skill.ToolkitNames) {
		server, _, ok := b.split(name)
		if s := b.servers[server]; !ok || s == nil || s.cfg.Skills == nil || skill.In(s.cfg.Skills) {
			continue
		}
		return a2e.Errorf(a2e.RuntimeError, "skill %q may not use %q: tools.mcp.%s.skills of the configuration says which skills that server is for; "+
			"the operator can add %s there", skill.Name, clip(name), server, skill.Scoped()).Because(a2e.ReasonUnsupported)
	}
	return nil
}
