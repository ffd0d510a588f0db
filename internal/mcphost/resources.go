package mcphost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

const (
	resourcesPage = 200     // resources that one answer lists
	maxURI        = 4096    // bytes
	maxArtifact   = 8 << 20 // bytes of an artifact that can be read here
	readsAtOnce   = 4       // artifacts
	skillsURI     = "skill://"
)

// listResources lists the files of the skills that the caller may call, each as skill://NAME/PATH.
func (p *peer) listResources(ctx context.Context, req *mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
	from, err := "", error(nil)
	if req.Params != nil {
		if from, err = readCursor(req.Params.Cursor); err != nil {
			return nil, err
		}
	}
	slugs, m, err := p.slugs(ctx)
	if err != nil {
		return nil, p.failed(ctx, "list resources", err)
	}
	p.saw(listResources, m)
	res := &mcp.ListResourcesResult{Cacheable: cacheable, Resources: []*mcp.Resource{}}
	slug, file, _ := strings.Cut(from, "\n")
	for _, s := range behind(slugs, slug, file != "") {
		m, err := p.manifest(ctx, s)
		if err != nil {
			return nil, p.failed(ctx, "list resources", err)
		}
		for i, f := range m.rest(s == slug, file) {
			if len(res.Resources) == resourcesPage {
				res.NextCursor = cursor(last(res.Resources))
				return res, nil
			}
			res.Resources = append(res.Resources, m.resource(f, i == 0 && f.path == skillFile))
		}
	}
	return res, nil
}

// last is where a page ends, for its cursor.
func last(page []*mcp.Resource) string {
	slug, file, _ := parseSkill(page[len(page)-1].URI)
	return slug + "\n" + file
}

func (p *peer) listTemplates() *mcp.ListResourceTemplatesResult {
	return &mcp.ListResourceTemplatesResult{Cacheable: cacheable, ResourceTemplates: []*mcp.ResourceTemplate{
		{
			Name: "skill-file", Title: "A file of a skill", URITemplate: skillsURI + "{name}/{+path}",
			Description: "SKILL.md says what a skill is for and how it works, and names its other files.",
		},
		{
			Name: "artifact", Title: "An artifact of a call", URITemplate: callsURI + "{call}/artifacts/{+name}",
			Description: "A file that a skill made, for who called it. The result of the call names it.",
		},
	}}
}

func (p *peer) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	c, err := p.read(ctx, uri)
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		return nil, refused
	case errors.Is(err, errNoResource):
		return nil, notFound(uri, req.ProtocolVersion())
	case err != nil:
		return nil, p.failed(ctx, "read resource", err)
	}
	return &mcp.ReadResourceResult{Cacheable: cacheable, Contents: []*mcp.ResourceContents{c}}, nil
}

// errNoResource: there is no such resource for this caller, whatever the reason.
var errNoResource = errors.New("resource not found")

// notFound is the error of each protocol revision for a resource that is not there.
func notFound(uri, revision string) error {
	code := int64(-32002)
	if revision >= statelessRevision {
		code = jsonrpc.CodeInvalidParams
	}
	if len(uri) > maxURI {
		uri = uri[:maxURI]
	}
	data, _ := json.Marshal(map[string]string{"uri": uri})
	return &jsonrpc.Error{Code: code, Message: "Resource not found", Data: data}
}

func (p *peer) read(ctx context.Context, uri string) (*mcp.ResourceContents, error) {
	if len(uri) > maxURI {
		return nil, errNoResource
	}
	if slug, file, ok := parseSkill(uri); ok {
		return p.readFile(ctx, uri, slug, file)
	}
	if call, name, ok := parseArtifact(uri); ok {
		return p.readArtifact(ctx, uri, call, name)
	}
	return nil, errNoResource
}

// readFile reads a file of a skill that the caller may call.
func (p *peer) readFile(ctx context.Context, uri, slug, file string) (*mcp.ResourceContents, error) {
	if !p.lists(ctx, slug) {
		return nil, errNoResource
	}
	b, err := p.host.opt.Catalog.File(ctx, p.who, slug, file, 0)
	if isMissing(err) {
		return nil, errNoResource
	}
	if err != nil {
		return nil, err
	}
	return contents(uri, mimeOf(file), b), nil
}

// isMissing reports whether the catalogue has no such thing for this caller.
func isMissing(err error) bool {
	var e *catalog.Error
	return errors.As(err, &e)
}

// readArtifact puts an artifact together from the events of a call, which must be one of the caller's principal. What is not
// whole is not there.
func (p *peer) readArtifact(ctx context.Context, uri, call, name string) (*mcp.ResourceContents, error) {
	if p.host.opt.Control == nil {
		return nil, errNoResource
	}
	select {
	case p.host.reads <- struct{}{}:
		defer func() { <-p.host.reads }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var content []byte
	kind, next, whole := "", 0, false
	err := control.Said(ctx, p.host.opt.Control.Of(p.who.Principal), call, func(ev *a2e.Event) bool {
		if ev.Seq != next { // what is missing may be a piece of it
			return false
		}
		next = ev.Seq + 1
		if ev.Kind != a2e.KindArtifact || ev.Data["name"] != name {
			return true
		}
		piece, err := a2e.PieceOf(ev)
		content = append(content, piece.Content...)
		kind, whole = piece.Mime, err == nil && piece.Final
		return err == nil && !whole && len(content) <= maxArtifact
	})
	switch {
	case errors.Is(err, control.ErrNotFound), err == nil && !whole && len(content) <= maxArtifact:
		return nil, errNoResource
	case err != nil:
		return nil, err
	case len(content) > maxArtifact:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf(
			"the artifact is larger than %d bytes: read it with hotcell or over REST", maxArtifact)}
	}
	return contents(uri, kind, content), nil
}

// skillURI is where a file of a skill can be read.
func skillURI(slug, file string) string { return skillsURI + slug + "/" + escape(file) }

// parseSkill is [skillURI] backwards.
func parseSkill(uri string) (slug, file string, ok bool) {
	rest, ours := strings.CutPrefix(uri, skillsURI)
	slug, rest, whole := strings.Cut(rest, "/")
	file, err := url.PathUnescape(rest)
	return slug, file, ours && whole && err == nil && toolName.MatchString(slug) && file != "" && !strings.Contains(file, "\n")
}

// mimeOf is the media type of a skill's file. "" is none that is known.
func mimeOf(file string) string {
	switch ext := strings.ToLower(path.Ext(file)); ext {
	case ".md":
		return "text/markdown"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".py":
		return "text/x-python"
	case ".sh":
		return "text/x-shellscript"
	case ".js":
		return "text/javascript"
	case ".txt":
		return "text/plain"
	case ".csv":
		return "text/csv"
	case ".json":
		return "application/json"
	case ".png", ".gif", ".svg", ".pdf", ".html", ".css", ".xml", ".jpg", ".jpeg", ".webp":
		kind, _, _ := mime.ParseMediaType(mime.TypeByExtension(ext))
		return kind
	}
	return ""
}
