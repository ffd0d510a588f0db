package rest

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed docs.css
var docsStyle string

//go:embed docs.html
var docsPage string

// page is the docs page: the OpenAPI document as plain HTML, with its own style and nothing else.
type page struct {
	policy string // Content-Security-Policy
	html   []byte
}

// operation is a route on the docs page.
type operation struct {
	Method, Path, ID, Summary, About, Scope string
	Params                                  []*huma.Param
	Takes                                   []schemaText
	Answers                                 []answerText
}

type schemaText struct{ Kind, Schema string }

type answerText struct {
	Status, About string
	Contents      []schemaText
}

type group struct {
	Name, About string
	Operations  []operation
}

// docs makes the page.
func docs(described huma.API, routes []route) (*page, error) {
	doc := described.OpenAPI()
	var groups []group
	for _, tag := range doc.Tags {
		g := group{Name: tag.Name, About: tag.Description}
		for i := range routes {
			if routes[i].tag == tag.Name {
				g.Operations = append(g.Operations, onPage(doc, &routes[i]))
			}
		}
		groups = append(groups, g)
	}
	t, err := template.New("docs").Funcs(template.FuncMap{"anchor": anchor}).Parse(docsPage)
	if err != nil {
		return nil, err
	}
	names, texts := schemasOf(doc)
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Info": doc.Info, "Groups": groups, "Names": names, "Schemas": texts, "Style": template.CSS(docsStyle),
	})
	sum := sha256.Sum256([]byte(docsStyle))
	return &page{
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		html:   b.Bytes(),
	}, err
}

func onPage(doc *huma.OpenAPI, t *route) operation {
	op := operationOf(doc.Paths[t.path], t.method)
	o := operation{Method: t.method, Path: t.path, ID: t.id, Summary: t.summary, About: t.about, Scope: string(t.scope), Params: op.Parameters}
	if op.RequestBody != nil {
		o.Takes = contents(op.RequestBody.Content)
	}
	for _, status := range sortedKeys(op.Responses) {
		r := op.Responses[status]
		o.Answers = append(o.Answers, answerText{status, r.Description, contents(r.Content)})
	}
	return o
}

func operationOf(item *huma.PathItem, method string) *huma.Operation {
	return map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodDelete: item.Delete,
	}[method]
}

func contents(all map[string]*huma.MediaType) (texts []schemaText) {
	for _, kind := range sortedKeys(all) {
		texts = append(texts, schemaText{kind, schemaName(all[kind].Schema)})
	}
	return texts
}

// schemaName is the name of the schema that one refers to; "" where it is none of the named ones.
func schemaName(s *huma.Schema) string {
	if len(s.OneOf) > 0 {
		s = s.OneOf[0]
	}
	return strings.TrimPrefix(s.Ref, "#/components/schemas/")
}

func schemasOf(doc *huma.OpenAPI) (names []string, texts map[string]string) {
	texts = map[string]string{}
	all := doc.Components.Schemas.Map()
	names = sortedKeys(all)
	for _, name := range names {
		b, _ := json.MarshalIndent(all[name], "", "  ") // it was written as JSON before
		texts[name] = string(b)
	}
	return names, texts
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func anchor(kind, name string) string { return kind + "-" + strings.ReplaceAll(name, " ", "-") }

func (p *page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Security-Policy", p.policy)
	send(w, http.StatusOK, "text/html; charset=utf-8", p.html)
}
