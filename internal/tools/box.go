package tools

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/internal/skills"
)

// prefixMCP starts the name of a server's tool, "mcp:SERVER/TOOL", and of the toolkit of all of them, "mcp:SERVER".
const prefixMCP = "mcp:"

// Server is an MCP server of the operator: a command that speaks over its stdin and stdout, or a URL.
type Server struct {
	Command  []string          // argv; the program is looked up in PATH
	Env      map[string]string // references; all that the command's environment holds beside PATH, HOME and LANG
	URL      string            // of a streamable HTTP endpoint; Command is empty then
	Headers  map[string]string // references; sent to URL with each request
	Tools    []string          // those that skills may use, * is any text; nil: all
	ReadOnly []string          // those that write nothing, whatever the server says, and the others do; nil: its hints decide
	Timeout  time.Duration     // of one use of a tool; 0: 60s
	Skills   []string          // those that may use it, * is any text; nil: all

	Recommends []string // skills that say how to work with it
}

// BoxOptions is what a [Box] works with.
type BoxOptions struct {
	Servers map[string]Server // by the name under which skills know them

	// Resolve turns a reference of Env and Headers into its value, each time a server is connected to. Nil: the references
	// are the values.
	Resolve func(reference string) (string, error)

	Now func() time.Time // for the tool time; nil: time.Now
	Log *slog.Logger
}

// Box holds the tools of the host: the built-in ones and those of MCP servers, which it connects to when they are needed
// for the first time, and again after they were lost. It is safe for concurrent use. Its owner ends it with [Box.Close].
type Box struct {
	builtins map[string]*builtin
	servers  map[string]*server
	version  atomic.Uint64

	stop  context.CancelFunc
	tasks sync.WaitGroup
}

var (
	_ skills.Toolbox = (*Box)(nil)
	_ skills.Namer   = (*Box)(nil)
)

// NewBox makes a box. It starts nothing.
func NewBox(opt BoxOptions) *Box {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Resolve == nil {
		opt.Resolve = func(value string) (string, error) { return value, nil }
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &Box{builtins: builtins(opt.Now), servers: make(map[string]*server, len(opt.Servers)), stop: stop}
	for name, cfg := range opt.Servers {
		b.servers[name] = newServer(ctx, name, cfg, opt, &b.tasks, func() { b.version.Add(1) })
	}
	return b
}

// Tool implements [skills.Toolbox].
func (b *Box) Tool(name string) skills.Found {
	server, tool, ok := b.split(name)
	switch {
	case b.builtins[name] != nil:
		return skills.Found{Tools: []skills.Tool{{Name: name, Source: skills.ToolBuiltin}}}
	case !ok:
		return skills.Found{Missing: fmt.Sprintf("this host has no tool %q: there are %s", clip(name), b.kinds())}
	case tool == "":
		return skills.Found{Missing: fmt.Sprintf("%q is a whole server: it goes under toolkits", clip(name))}
	case b.servers[server] == nil:
		return skills.Found{Missing: b.noServer(server)}
	}
	remotes, known := b.servers[server].known()
	if !known {
		return skills.Found{Open: true}
	}
	for _, r := range remotes {
		if r.tool == tool {
			return skills.Found{Tools: []skills.Tool{r.found()}}
		}
	}
	return skills.Found{Missing: b.servers[server].noTool(tool)}
}

// Toolkit implements [skills.Toolbox].
func (b *Box) Toolkit(name string) skills.Found {
	server, tool, ok := b.split(name)
	switch {
	case !ok:
		return skills.Found{Missing: fmt.Sprintf("this host has no toolkit %q: a toolkit is a server of the configuration (tools.mcp), such as mcp:SERVER", clip(name))}
	case tool != "":
		return skills.Found{Missing: fmt.Sprintf("%q is one tool of a server: it goes under tools", clip(name))}
	case b.servers[server] == nil:
		return skills.Found{Missing: b.noServer(server)}
	}
	remotes, known := b.servers[server].known()
	found := skills.Found{Open: !known}
	for _, r := range remotes {
		found.Tools = append(found.Tools, r.found())
	}
	return found
}

// Named implements [skills.Namer]: a server's tool counts by its own name. A server that was not asked so far may have any.
func (b *Box) Named(bare string) skills.Found {
	if b.builtins[bare] != nil {
		return skills.Found{Tools: []skills.Tool{{Name: bare, Source: skills.ToolBuiltin}}}
	}
	open := false
	for _, name := range slices.Sorted(maps.Keys(b.servers)) {
		remotes, known := b.servers[name].known()
		open = open || !known
		for _, r := range remotes {
			if r.tool == bare {
				return skills.Found{Tools: []skills.Tool{r.found()}}
			}
		}
	}
	if open {
		return skills.Found{Open: true}
	}
	return skills.Found{Missing: fmt.Sprintf("this host has no tool %q", clip(bare))}
}

// Version implements [skills.Toolbox].
func (b *Box) Version() uint64 { return b.version.Load() }

// Close ends every server's connection, and the servers that were started.
func (b *Box) Close() {
	b.stop()
	for _, s := range b.servers {
		s.rest()
	}
	b.tasks.Wait()
}

// split takes the name of a server's tool apart; ok is false for other names.
func (b *Box) split(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, prefixMCP)
	server, tool, _ = strings.Cut(rest, "/")
	return server, tool, ok
}

// kinds says what tools there are.
func (b *Box) kinds() string {
	names := append(slices.Sorted(maps.Keys(b.builtins)), "skill:NAME")
	if len(b.servers) > 0 {
		names = append(names, "mcp:SERVER/TOOL")
	}
	return strings.Join(names, ", ")
}

func (b *Box) noServer(name string) string {
	if len(b.servers) == 0 {
		return fmt.Sprintf("there is no MCP server %q: the configuration has none (tools.mcp)", clip(name))
	}
	return fmt.Sprintf("there is no MCP server %q: the configuration (tools.mcp) has %s",
		clip(name), strings.Join(slices.Sorted(maps.Keys(b.servers)), ", "))
}

// clip keeps names that come from outside short.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
