package rest

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotcell/hotcell/internal/auth"
)

// The groups of routes.
const (
	tagCalls     = "calls"
	tagSkills    = "skills"
	tagCustom    = "custom skills"
	tagAgents    = "agents"
	tagApprovals = "approvals"
	tagBundles   = "bundles"
)

var tagWords = map[string]string{
	tagCalls:     "Run skills, follow what they say, fetch what they made.",
	tagSkills:    "Read what skills there are.",
	tagCustom:    "Skills that live in the store and belong to one principal.",
	tagAgents:    "Agents and what they may use.",
	tagApprovals: "Writes that agents asked for, which a person decides about.",
	tagBundles:   "Skills that an operator uploads, for everybody.",
}

var (
	ifMatch     = param{"If-Match", "header", "string", "An ETag: the write fails with PRECONDITION_FAILED if something else is there now."}
	ifNoneMatch = param{"If-None-Match", "header", "string", "An ETag: the answer is 304 if that is still what is there."}
	same        = out{http.StatusNotModified, "it is what If-None-Match says", "", nil}
)

// good is a plain answer with a body of JSON.
func good(value any) out { return out{http.StatusOK, "", "", value} }

func info(version string) *huma.Info {
	if version == "" {
		version = "dev"
	}
	return &huma.Info{
		Title: "hotcell", Version: version,
		Description: "Runs skills in sealed single-use containers. Below /v1/calls error codes are in lower case, below /api/v1 and /v1/skills in capitals.",
	}
}

func tags(routes []route) (all []*huma.Tag) {
	for i := range routes {
		name := routes[i].tag
		if !slices.ContainsFunc(all, func(t *huma.Tag) bool { return t.Name == name }) {
			all = append(all, &huma.Tag{Name: name, Description: tagWords[name]})
		}
	}
	return all
}

// describe is a route in the words of OpenAPI.
func describe(schemas huma.Registry, t *route) *huma.Operation {
	op := &huma.Operation{
		Method: t.method, Path: t.path, OperationID: t.id, Tags: []string{t.tag}, Summary: t.summary, Description: t.about,
		Security: []map[string][]string{{"token": {}}, {}}, Responses: map[string]*huma.Response{},
		Extensions: map[string]any{"x-scope": string(t.scope)},
	}
	for _, name := range pathNames(t.path) {
		p := &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}
		if t.deep && strings.HasSuffix(t.path, "{"+name+"}") {
			p.Description = "May have slashes, as they are or percent-encoded."
		}
		op.Parameters = append(op.Parameters, p)
	}
	for _, p := range t.params {
		op.Parameters = append(op.Parameters, &huma.Param{Name: p.name, In: p.in, Description: p.about, Schema: &huma.Schema{Type: p.kind}})
	}
	if t.in != nil {
		op.RequestBody = &huma.RequestBody{Required: !t.optional, Content: map[string]*huma.MediaType{}}
		for _, kind := range t.kinds() {
			op.RequestBody.Content[kind] = media(schemas, t.in)
		}
	}
	for _, o := range t.outs {
		answer(schemas, op, o)
	}
	for _, status := range t.failures() {
		answer(schemas, op, out{status: status, value: t.failure()})
	}
	return op
}

// failures are the statuses with which a route may fail: its own, and those that all have.
func (t *route) failures() []int {
	all := append([]int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusMisdirectedRequest, http.StatusInternalServerError, http.StatusServiceUnavailable,
	}, t.fails...)
	if t.in != nil {
		all = append(all, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// failure is the body of a failure.
func (t *route) failure() any {
	if strings.HasPrefix(t.path, "/v1/calls") {
		return errorBody{}
	}
	return knownBody{}
}

// answer adds what a status may come with. The first that is said of one stands.
func answer(schemas huma.Registry, op *huma.Operation, o out) {
	key := strconv.Itoa(o.status)
	r := op.Responses[key]
	if r == nil {
		r = &huma.Response{Description: o.about}
		if r.Description == "" {
			r.Description = http.StatusText(o.status)
		}
		op.Responses[key] = r
	}
	kind := o.kind
	switch {
	case o.status == http.StatusNotModified:
		return
	case kind == "":
		kind = kindJSON
	}
	if r.Content == nil {
		r.Content = map[string]*huma.MediaType{}
	}
	m := media(schemas, o.value)
	if had := r.Content[kind]; had != nil {
		if had.Schema.Ref == m.Schema.Ref {
			return
		}
		m = &huma.MediaType{Schema: &huma.Schema{OneOf: []*huma.Schema{had.Schema, m.Schema}}}
	}
	r.Content[kind] = m
}

// media describes a value; nil and bytes are any bytes.
func media(schemas huma.Registry, value any) *huma.MediaType {
	if _, bytes := value.([]byte); value == nil || bytes {
		return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	return &huma.MediaType{Schema: schemas.Schema(reflect.TypeOf(value), true, "")}
}

var inBraces = regexp.MustCompile(`\{([^}]+)\}`)

func pathNames(path string) (names []string) {
	for _, m := range inBraces.FindAllStringSubmatch(path, -1) {
		names = append(names, m[1])
	}
	return names
}

// nullable are the members that are null or another schema's, which a Go type does not tell.
var nullable = map[string]string{"ShowBody": "answer", "CallResponse": "data"}

// document is /openapi.json.
func document(described huma.API) ([]byte, error) {
	doc := described.OpenAPI()
	for name, member := range nullable {
		if s := doc.Components.Schemas.Map()[name]; s != nil && s.Properties[member].Ref != "" {
			s.Properties[member] = &huma.Schema{OneOf: []*huma.Schema{s.Properties[member], {Type: "null"}}}
		}
	}
	for name, s := range doc.Components.Schemas.Map() {
		if strings.Contains(doc.Components.Schemas.TypeFromRef("#/components/schemas/"+name).PkgPath(), "/internal/a2e") {
			continue // of A2E some lists may be null
		}
		for _, member := range s.Properties {
			member.Nullable = member.Nullable && member.Type != huma.TypeArray
		}
	}
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "Where auth.mode is none, nothing has to be shown. The scope that a route needs is its x-scope: " + scopes()},
	}
	return json.Marshal(doc)
}

func scopes() string {
	var names []string
	for _, s := range auth.Scopes() {
		names = append(names, string(s))
	}
	return oneOf(names) + "."
}
