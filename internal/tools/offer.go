package tools

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotcell/hotcell/internal/catalog"
)

// guides are the skills that say how to work with tools of hotcell's own, by tool.
func guides() map[string][]string {
	return map[string][]string{"time": {"time-arithmetic"}, "calculator": {"time-arithmetic"}}
}

// Offer lists the host's tools as people see them: the built-in ones, and each server with those of its tools that are known
// by now. What is recommended stands at the server.
func (b *Box) Offer() []catalog.ToolInfo {
	var all []catalog.ToolInfo
	recommended := guides()
	for _, name := range slices.Sorted(maps.Keys(b.builtins)) {
		def := b.builtins[name].def
		all = append(all, catalog.ToolInfo{
			Name: name, Description: def.Description, Writes: def.Writes, InputSchema: def.InputSchema, Recommends: recommended[name],
		})
	}
	for _, name := range slices.Sorted(maps.Keys(b.servers)) {
		s := b.servers[name]
		remotes, _ := s.known()
		whole := catalog.ToolInfo{Name: prefixMCP + name, Description: fmt.Sprintf("The tools of the MCP server %s.", name), Recommends: s.cfg.Recommends}
		var each []catalog.ToolInfo
		for _, r := range remotes {
			whole.Writes = whole.Writes || r.writes
			each = append(each, catalog.ToolInfo{Name: r.name, Description: r.description, Writes: r.writes, InputSchema: r.input})
		}
		all = append(append(all, whole), each...)
	}
	return all
}
