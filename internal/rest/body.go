package rest

import (
	"mime"
	"net/http"
	"slices"
)

// maxBody bounds what a request carries where nothing else is said, in bytes.
const maxBody = 1 << 20

// body is what requests of a route may carry.
type body struct {
	content []string // content types
	max     int64    // bytes
}

// bodies returns the rule of each request: its mount's, or JSON of at most 1 MiB.
func bodies(mounts []Mount) func(*http.Request) body {
	usual := body{[]string{"application/json"}, maxBody}
	index := http.NewServeMux()
	rules := map[string]body{}
	for _, m := range mounts {
		rule := usual
		if m.Content != nil {
			rule.content = m.Content
		}
		if m.MaxBody > 0 {
			rule.max = m.MaxBody
		}
		for _, p := range m.Patterns {
			index.Handle(p, http.NotFoundHandler())
			rules[p] = rule
		}
	}
	return func(r *http.Request) body {
		_, pattern := index.Handler(r)
		if rule, ok := rules[pattern]; ok {
			return rule
		}
		return usual
	}
}

// takes reports whether a request that writes says that it carries what it may. A DELETE need not carry anything.
func (b body) takes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	case http.MethodDelete:
		if r.ContentLength == 0 {
			return true
		}
	}
	types := r.Header.Values("Content-Type")
	if len(types) == 0 && r.ContentLength == 0 {
		return slices.Contains(b.content, "")
	}
	if len(types) != 1 {
		return false
	}
	kind, _, err := mime.ParseMediaType(types[0])
	return err == nil && slices.Contains(b.content, kind)
}
