package rest

import (
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/hotcell/hotcell/internal/auth"
)

// route is one operation: where it is, who may, what it takes and answers, and who serves it. The mux, the rules of the
// listener, /openapi.json and the docs page are all made of it.
type route struct {
	method, path string // in the words of OpenAPI: "/api/v1/skills/{slug}"
	deep         bool   // the last parameter of the path takes slashes
	id           string // of the operation
	tag, summary string
	about        string // more words, plain text
	scope        auth.Scope
	params       []param // of the query, and headers
	takes        body
	in           any // a value of what is in the body; nil: nothing
	optional     bool
	large        bool // its answers may be: only so many are on their way at once
	outs         []out
	fails        []int // statuses beside those that all routes have
	serve        func(w http.ResponseWriter, r *http.Request) error
}

// param is a query parameter or a header.
type param struct {
	name, in, kind, about string // in: query or header; kind: string, integer or boolean
}

// out is one good answer.
type out struct {
	status int
	about  string
	kind   string // the content type; "": JSON
	value  any    // of that type; nil: none, or bytes
}

// pattern is the route in the words of [http.ServeMux].
func (t *route) pattern() string { return t.method + " " + t.muxPath() }

func (t *route) muxPath() string {
	if !t.deep {
		return t.path
	}
	return strings.TrimSuffix(t.path, "}") + "...}"
}

// takesBytes reports whether the body is no JSON.
func (t *route) takesBytes() bool { return t.takes.content != nil }

// kinds are the content types that the body may have.
func (t *route) kinds() []string {
	if t.takesBytes() {
		return t.takes.content
	}
	return []string{kindJSON}
}

// mounted puts the routes on the mux and describes them.
func (a *api) mounted(mux *http.ServeMux, version string, routes []route) huma.API {
	config := huma.Config{OpenAPI: &huma.OpenAPI{OpenAPI: "3.1.0", Info: info(version)}}
	described := humago.New(mux, config)
	doc := described.OpenAPI()
	for i := range routes {
		t := &routes[i]
		doc.AddOperation(describe(doc.Components.Schemas, t))
		handler := a.needs(t.scope, a.serving(t))
		at := &huma.Operation{Method: t.method, Path: t.muxPath()}
		described.Adapter().Handle(at, func(c huma.Context) {
			r, w := humago.Unwrap(c)
			handler(w, r)
		})
	}
	doc.Tags = tags(routes)
	return described
}

// serving turns the error of a route into its answer.
func (a *api) serving(t *route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := a.roomy(t, w, r)
		if err != nil {
			a.failed(w, r, err)
		}
	}
}

// roomy serves a request once there is memory for its body, where that is read whole.
func (a *api) roomy(t *route, w http.ResponseWriter, r *http.Request) error {
	if t.in != nil && !t.takesBytes() {
		give, err := a.memory.take(r, t.takes.whole().max)
		if err != nil {
			return err
		}
		defer give()
	}
	if t.large {
		leave, err := a.reading(r)
		if err != nil {
			return err
		}
		defer leave()
	}
	return t.serve(w, r)
}

const (
	kindJSON   = "application/json"
	kindNDJSON = "application/x-ndjson"
	kindSSE    = "text/event-stream"
	kindBytes  = "application/octet-stream"
)

// lifted takes the listener's deadlines off a request that may take longer, once its body has been read: a read deadline
// that passes would count as a client that hung up.
func lifted(w http.ResponseWriter) *http.ResponseController {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Time{}) // a test's recorder has none
	_ = c.SetWriteDeadline(time.Time{})
	return c
}
