package broker

import (
	"mime"
	"net/http"
	"strings"

	"github.com/hotcell/hotcell/internal/llm"
)

// route is an endpoint that calls may use.
type route struct {
	method, path string
	generates    bool     // counts as one of the call's requests
	outputs      []string // the keys of a request that bound its output; the largest counts
	choices      bool     // "n" asks for several outputs
	askUsage     bool     // streams report usage only when they are asked to
	typedTools   bool     // a tool without a type is none of the protocol's
}

// routes are the endpoints of a kind.
func routes(kind llm.Kind) []route {
	models := route{method: http.MethodGet, path: "/v1/models"}
	if kind == llm.Anthropic {
		return []route{
			{method: http.MethodPost, path: "/v1/messages", generates: true, outputs: []string{"max_tokens"}},
			{method: http.MethodPost, path: "/v1/messages/count_tokens"},
			models,
		}
	}
	return []route{
		{method: http.MethodPost, path: "/v1/chat/completions", generates: true, choices: true, askUsage: true, typedTools: true,
			outputs: []string{"max_completion_tokens", "max_tokens"}},
		{method: http.MethodPost, path: "/v1/responses", generates: true, typedTools: true, outputs: []string{"max_output_tokens"}},
		{method: http.MethodPost, path: "/v1/embeddings", generates: true, typedTools: true},
		models,
	}
}

// find returns the endpoint that a request is for. Only the very paths count: nothing is cleaned, decoded or joined.
func (g *grant) find(r *http.Request) (*route, *refusal) {
	kind := g.plan.to.Kind
	if r.Header.Get("Upgrade") != "" || r.Method == http.MethodConnect {
		return nil, forbid("upgrade", "a connection cannot be turned into another protocol here")
	}
	if r.URL.Host != "" || r.URL.Scheme != "" || r.URL.User != nil {
		return nil, forbid("endpoint", "this is no proxy: ask for a path alone")
	}
	query := r.URL.RawQuery
	if r.Method == http.MethodGet || kind == llm.Anthropic && query == "beta=true" {
		query = "" // what a list is asked beside its path is left out
	}
	if query == "" && r.URL.RawPath == "" && !strings.Contains(r.RequestURI, "%") {
		for _, rt := range routes(kind) {
			if rt.path == r.URL.Path && rt.method == r.Method {
				return &rt, nil
			}
		}
	}
	if query != "" || r.URL.RawPath != "" || strings.Contains(r.RequestURI, "%") {
		return nil, forbid("endpoint", "%s %s is not granted as it is written: expected a path without escapes and without a query", r.Method, clip(r.RequestURI))
	}
	var names []string
	for _, rt := range routes(kind) {
		names = append(names, rt.method+" "+rt.path)
	}
	return nil, forbid("endpoint", "%s %s is not granted: a call can use %s", r.Method, clip(r.URL.Path), strings.Join(names, ", "))
}

// checkContent refuses bodies that could not be checked.
func checkContent(r *http.Request) *refusal {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return reject("content_type", "expected a body of type application/json")
	}
	if r.Header.Get("Content-Encoding") != "" {
		return reject("content_type", "expected a body that is not packed (Content-Encoding)")
	}
	return nil
}
