package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotcell/hotcell/internal/llm"
)

// Tools says which host tools there are beside the built-in ones.
type Tools struct {
	MCP map[string]MCPServer // by the name under which skills know a server
}

// MCPServer is an MCP server of the operator's. It is a program or an address.
type MCPServer struct {
	Command  []string          // the program and its arguments, on this host
	URL      string            // of a server that speaks streamable HTTP
	Env      map[string]string // of the program, references by variable
	Headers  map[string]string // of requests to URL, references by header
	Tools    []string          // those that skills may use, * is any text; nil: all
	ReadOnly []string          // those of them that write nothing, whatever the server says, and the others write; nil: its hints decide
	Timeout  Age               // of one use; 0: the default
	Skills   []string          // those that may use it, * is any text; nil: all

	Recommends []string // skills that say how to work with it, for agents that have it
}

func (c *Config) toolFaults(v *faults) {
	if len(c.Tools.MCP) > maxListed {
		v.add("tools.mcp", fmt.Sprintf("%d entries, at most %d are allowed", len(c.Tools.MCP), maxListed))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tools.MCP)) {
		c.Tools.MCP[name].faults("tools.mcp."+name, v)
	}
}

func (m MCPServer) faults(key string, v *faults) {
	switch {
	case (len(m.Command) == 0) == (m.URL == ""):
		v.add(key, "expected either command or url")
	case m.URL != "":
		u, why := llm.CheckURL(m.URL)
		if why == "" && u.Scheme == "http" && len(m.Headers) > 0 && !llm.Loopback(u.Hostname()) {
			why = "expected https: headers could be read on their way; http is for loopback addresses and servers without headers"
		}
		v.add(key+".url", why)
		if len(m.Env) > 0 {
			v.add(key+".env", "a server with a url is not started here and has no environment; use headers")
		}
	case len(m.Headers) > 0:
		v.add(key+".headers", "a server with a command gets no requests over HTTP; use env")
	}
	v.add(key+".command", checkList(m.Command))
	v.add(key+".tools", checkList(m.Tools))
	v.add(key+".read_only", checkList(m.ReadOnly))
	v.add(key+".skills", checkSkills(m.Skills))
	v.add(key+".recommends", checkNames(m.Recommends))
	for what, refs := range map[string]map[string]string{"env": m.Env, "headers": m.Headers} {
		for _, name := range slices.Sorted(maps.Keys(refs)) {
			v.add(key+"."+what+"."+name, checkReference(refs[name]))
		}
	}
	if m.Timeout < 0 || m.Timeout > Age(3600e9) {
		v.add(key+".timeout", fmt.Sprintf("expected a time up to 1h, not %s", m.Timeout))
	}
}
