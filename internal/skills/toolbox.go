package skills

import "strconv"

// The sources of tools.
const (
	ToolBuiltin = "builtin"
	ToolSkill   = "skill"
	ToolMCP     = "mcp"
)

// SkillTool is the prefix of a tool that is another skill: "skill:word-count".
const SkillTool = "skill:"

// Tool is what is known of a tool that a skill may declare.
type Tool struct {
	Name   string // as skill.yaml writes it: "calculator", "skill:word-count", "mcp:server/tool"
	Source string // [ToolBuiltin], [ToolSkill], [ToolMCP]
	Writes bool   // it may change something
}

// Found is what a [Toolbox] knows about a name.
type Found struct {
	Tools   []Tool // one for a tool, all of them for a toolkit
	Open    bool   // nobody knows yet: its server was not asked so far
	Missing string // why there is no such thing, as a clause that names it; "" when there is, or may be
}

// Toolbox knows the tools that the host has beside the skills: built-ins and the operator's MCP servers. Its methods return
// at once, and it is safe for concurrent use.
type Toolbox interface {
	Tool(name string) Found
	Toolkit(name string) Found
	// Version changes whenever an answer may have.
	Version() uint64
}

// Namer is a [Toolbox] that also knows its tools by their bare names, without a server or a plugin before them, as
// SKILL.md's allowed-tools writes them.
type Namer interface {
	Named(bare string) Found
}

// NoTools is the toolbox of a host without tools.
var NoTools Toolbox = noTools{}

type noTools struct{}

func (noTools) Tool(name string) Found { return Found{Missing: "this host has no tool " + quote(name)} }
func (noTools) Toolkit(name string) Found {
	return Found{Missing: "this host has no toolkit " + quote(name)}
}
func (noTools) Version() uint64 { return 0 }

func quote(name string) string { return strconv.Quote(clip(name, 80)) }
