package mcphost

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Bounds of what a result says of its call's artifacts.
const (
	mostNamed    = 256       // artifacts that a result names; the others are counted
	mostEmbedded = 256 << 10 // bytes of an artifact that is within the result
	allEmbedded  = 1 << 20   // bytes of all of them
)

// artifacts follows the artifact events of one call.
type artifacts struct {
	byName   map[string]*artifact
	order    []*artifact
	more     int // that are not named
	embedded int // bytes that are kept
}

// artifact is one file that a skill made. Name and media type are the skill's own words.
type artifact struct {
	name, mime string
	size       int64
	final      bool
	kept       bool   // all of it is in content
	content    []byte // as far as it is kept
}

func newArtifacts() *artifacts { return &artifacts{byName: map[string]*artifact{}} }

// add takes an artifact's event.
func (a *artifacts) add(ev *a2e.Event) {
	piece, _ := a2e.PieceOf(ev) // the relay lets nothing out that is no base64
	f := a.byName[piece.Name]
	switch {
	case f == nil && len(a.order) == mostNamed:
		if piece.Final {
			a.more++
		}
		return
	case f == nil:
		f = &artifact{name: piece.Name, kept: true}
		a.byName[piece.Name] = f
		a.order = append(a.order, f)
	}
	if f.mime == "" {
		f.mime = piece.Mime
	}
	f.size += int64(len(piece.Content))
	f.final = piece.Final
	if !f.kept {
		return
	}
	if f.size > mostEmbedded || a.embedded+len(piece.Content) > allEmbedded {
		a.embedded -= len(f.content)
		f.kept, f.content = false, nil
		return
	}
	a.embedded += len(piece.Content)
	f.content = append(f.content, piece.Content...)
}

// mayLack makes links of what is incomplete: an answer holds only the beginning of what its call said.
func (a *artifacts) mayLack() {
	for _, f := range a.order {
		if !f.final {
			f.final, f.kept, f.content, f.size = true, false, nil, 0
		}
	}
}

// content is a result's view of the artifacts: small ones whole, the others as links to read them by. Revisions without
// links get the address as text.
func (a *artifacts) content(call, revision string) []mcp.Content {
	var list []mcp.Content
	for _, f := range a.order {
		uri := artifactURI(call, f.name)
		switch {
		case !f.final: // its end was lost
			list = append(list, &mcp.TextContent{Text: fmt.Sprintf("artifact %q is incomplete", f.name)})
		case f.kept:
			list = append(list, &mcp.EmbeddedResource{Resource: contents(uri, f.mime, f.content)})
		case revision < "2025-06-18":
			list = append(list, &mcp.TextContent{Text: fmt.Sprintf("artifact %q (%d bytes): %s", f.name, f.size, uri)})
		default:
			link := &mcp.ResourceLink{URI: uri, Name: f.name, MIMEType: f.mime}
			if f.size > 0 {
				link.Size = &f.size
			}
			list = append(list, link)
		}
	}
	if a.more > 0 {
		list = append(list, &mcp.TextContent{Text: fmt.Sprintf("and %d more artifacts", a.more)})
	}
	return list
}

// contents is what a resource holds, as text where it is some. An empty one is an empty blob, since an empty text would be
// left out.
func contents(uri, mime string, b []byte) *mcp.ResourceContents {
	c := &mcp.ResourceContents{URI: uri, MIMEType: mime}
	if len(b) > 0 && utf8.Valid(b) && !strings.ContainsRune(string(b), 0) {
		c.Text = string(b)
		return c
	}
	c.Blob = b
	if b == nil {
		c.Blob = []byte{}
	}
	return c
}

const callsURI = "hotcell://calls/"

// artifactURI is where an artifact of a call can be read.
func artifactURI(call, name string) string {
	return callsURI + url.PathEscape(call) + "/artifacts/" + escape(name)
}

// escape makes the path of a URI of a name, which may have folders.
func escape(name string) string {
	parts := strings.Split(name, "/")
	for i, s := range parts {
		parts[i] = url.PathEscape(s)
	}
	return strings.Join(parts, "/")
}

// parseArtifact is [artifactURI] backwards.
func parseArtifact(uri string) (call, name string, ok bool) {
	rest, ours := strings.CutPrefix(uri, callsURI)
	id, rest, whole := strings.Cut(rest, "/artifacts/")
	call, err1 := url.PathUnescape(id)
	name, err2 := url.PathUnescape(rest)
	return call, name, ours && whole && err1 == nil && err2 == nil && call != "" && name != "" && !strings.Contains(id, "/")
}
