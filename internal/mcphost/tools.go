package mcphost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/catalog"
)

// toolsPage is how many tools one answer lists.
const toolsPage = 1000

// metaPrefix is before the names of what is ours in _meta.
const metaPrefix = "hotcell/"

// mark tells one state of a list from another.
type mark [sha256.Size]byte

// cacheable says how an answer may be kept: by its caller alone, and not without asking.
var cacheable = mcp.Cacheable{CacheScope: "private"}

func (p *peer) listTools(ctx context.Context, req *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
	tools, err := p.tools(ctx)
	if err != nil {
		return nil, p.failed(ctx, "list tools", err)
	}
	after := ""
	if req.Params != nil {
		if after, err = readCursor(req.Params.Cursor); err != nil {
			return nil, err
		}
	}
	m, err := markOf(tools)
	if err != nil {
		return nil, p.failed(ctx, "list tools", err)
	}
	p.saw(listTools, m)
	from, found := slices.BinarySearchFunc(tools, after, func(t *mcp.Tool, name string) int { return cmp.Compare(t.Name, name) })
	if found {
		from++
	}
	res := &mcp.ListToolsResult{Cacheable: cacheable, Tools: tools[from:]}
	if len(res.Tools) > toolsPage {
		res.Tools = res.Tools[:toolsPage]
		res.NextCursor = cursor(res.Tools[toolsPage-1].Name)
	}
	return res, nil
}

// markOf sums up anything that has a JSON form.
func markOf(v any) (mark, error) {
	b, err := json.Marshal(v)
	return sha256.Sum256(b), err
}

// A cursor is the name behind which the next page begins: pages of a list that changes meanwhile neither repeat nor skip
// what is in both.
func cursor(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }

func readCursor(s string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || !utf8.Valid(b) {
		return "", invalid("cursor: expected one that a list gave as nextCursor")
	}
	return string(b), nil
}

// tools returns what the caller may call, by name.
func (p *peer) tools(ctx context.Context) ([]*mcp.Tool, error) {
	entries, err := p.host.opt.Catalog.Callable(ctx, p.who)
	if err != nil {
		return nil, err
	}
	tools := make([]*mcp.Tool, 0, len(entries))
	for _, e := range entries {
		if toolName.MatchString(e.Definition.Name) {
			tools = append(tools, toolOf(e))
		}
	}
	slices.SortFunc(tools, func(a, b *mcp.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return tools, nil
}

// toolName is what the protocol allows as the name of a tool.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// toolOf projects a skill to a tool.
func toolOf(e catalog.Entry) *mcp.Tool {
	d := e.Definition
	t := &mcp.Tool{
		Name: d.Name, Title: title(d.Name), Description: description(d.Description, d.WhenToUse),
		InputSchema: inputSchema(d.InputSchema), Annotations: hints(e), Meta: mcp.Meta{},
	}
	if s := outputSchema(d.OutputSchema); s != nil {
		t.OutputSchema = s
	}
	if d.Icon != nil && isIcon(*d.Icon) {
		t.Icons = []mcp.Icon{{Source: *d.Icon}}
	}
	if d.Version != "" {
		t.Meta[metaPrefix+"version"] = d.Version
	}
	if d.Category != nil && *d.Category != "" {
		t.Meta[metaPrefix+"category"] = *d.Category
	}
	if len(d.Tags) > 0 {
		t.Meta[metaPrefix+"tags"] = d.Tags
	}
	if d.TimeoutSeconds != nil {
		t.Meta[metaPrefix+"timeout"] = *d.TimeoutSeconds
	}
	return t
}

// title makes words of a name: "word-count" is "Word count".
func title(name string) string {
	words := []rune(strings.NewReplacer("-", " ", "_", " ").Replace(name))
	words[0] = unicode.ToUpper(words[0])
	return string(words)
}

// description is what a model chooses by.
func description(what, when string) string {
	if when == "" || strings.Contains(what, when) {
		return what
	}
	return what + "\n\n" + when
}

// hints says what a call may do. A skill that only reads changes nothing, however often it is called. Of the others nothing
// better can be promised than the protocol's defaults. What runs in this process reaches nothing beyond it; what a cell may
// reach is not known here.
func hints(e catalog.Entry) *mcp.ToolAnnotations {
	destructive, open := !e.ReadOnly, !e.Hosted
	return &mcp.ToolAnnotations{
		ReadOnlyHint: e.ReadOnly, IdempotentHint: e.ReadOnly, DestructiveHint: &destructive, OpenWorldHint: &open,
	}
}

// isIcon reports whether an icon is a picture's address. Others are text, such as an emoji.
func isIcon(s string) bool {
	return len(s) <= 64<<10 && (strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "data:image/"))
}
