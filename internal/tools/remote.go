package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/pattern"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
)

// What of a server's list of tools is kept.
const (
	mostRemotes    = 512
	maxDescription = 4 << 10
	maxSchema      = 64 << 10
)

// remote is a tool of an MCP server as the server described it last.
type remote struct {
	name        string // "mcp:files/read"
	tool        string // the server's own name
	description string
	input       json.RawMessage
	schema      *skills.Schema // nil: the server has to judge the arguments itself
	writes      bool
}

// goodRemote is what MCP lets a tool be called.
var goodRemote = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,128}$`)

// newRemote returns nil for a tool that cannot be offered.
func newRemote(server string, cfg *Server, t *mcp.Tool) *remote {
	if !goodRemote.MatchString(t.Name) || (cfg.Tools != nil && !pattern.Any(cfg.Tools, t.Name)) {
		return nil
	}
	r := &remote{name: prefixMCP + server + "/" + t.Name, tool: t.Name, description: cut(t.Description, maxDescription)}
	if len(r.name) > wall.MaxToolName {
		return nil
	}
	raw, err := json.Marshal(t.InputSchema)
	if err != nil || len(raw) > maxSchema || raw[0] != '{' {
		raw = []byte(`{"type":"object"}`)
	}
	r.input = raw
	if schema, err := skills.CompileSchema(raw, "arguments"); err == nil {
		r.schema = schema
	}
	switch {
	case cfg.ReadOnly != nil:
		r.writes = !pattern.Any(cfg.ReadOnly, t.Name)
	default:
		r.writes = t.Annotations == nil || !t.Annotations.ReadOnlyHint
	}
	return r
}

func (r *remote) found() skills.Tool {
	return skills.Tool{Name: r.name, Source: skills.ToolMCP, Writes: r.writes}
}

// same reports whether two lists say the same to skills.
func same(a, b []*remote) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].found() != b[i].found() {
			return false
		}
	}
	return true
}

// remoteTool is a remote in the hands of a call. It is looked up each time, since the server may change its mind.
type remoteTool struct {
	server *server
	tool   string
}

func (t *remoteTool) now() (*remote, error) {
	remotes, _ := t.server.known()
	for _, r := range remotes {
		if r.tool == t.tool {
			return r, nil
		}
	}
	return nil, errors.New(t.server.noTool(t.tool))
}

func (t *remoteTool) definition() (wall.ToolDef, error) {
	r, err := t.now()
	if err != nil {
		return wall.ToolDef{}, t.activation(err)
	}
	return wall.ToolDef{Name: r.name, Description: r.description, InputSchema: r.input, Writes: r.writes}, nil
}

func (t *remoteTool) use(ctx context.Context, _ *grant, args map[string]any) (any, error) {
	r, err := t.now()
	if err != nil {
		return nil, t.activation(err)
	}
	if r.schema != nil {
		if err := r.schema.Validate(args); err != nil {
			return nil, invalid(err)
		}
	}
	if _, err := t.server.ready(ctx); err != nil {
		return nil, t.activation(err)
	}
	return t.server.call(ctx, t.tool, args)
}

// activation says that it is about the activation of the tool, by which the protocol tells such errors.
func (t *remoteTool) activation(err error) error {
	return fmt.Errorf("activation of %s%s/%s: %w", prefixMCP, t.server.name, clip(t.tool), err)
}

// content turns what a tool answered into data: what is structured, else its text, else everything.
func content(res *mcp.CallToolResult) (any, error) {
	var texts []string
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	text := strings.Join(texts, "\n")
	switch {
	case res.IsError && text == "":
		return nil, errors.New("the tool says that it went wrong, and not why")
	case res.IsError:
		return nil, fmt.Errorf("%s", cut(text, maxError))
	case res.NeedsInput():
		return nil, errors.New("the tool asks for more input in the middle, which is not possible here")
	case res.StructuredContent != nil:
		return res.StructuredContent, nil
	case len(texts) == len(res.Content):
		return text, nil
	}
	return map[string]any{"content": res.Content}, nil
}
