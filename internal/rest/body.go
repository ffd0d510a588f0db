package rest

import (
	"mime"
	"net/http"
	"slices"
	"time"
)

// maxBody bounds what a request carries where nothing else is said, in bytes.
const maxBody = 1 << 20

// body is what requests of a route may carry.
type body struct {
	content  []string      // content types; nil: JSON
	max      int64         // bytes; 0: 1 MiB
	patience time.Duration // until all of it is there; 0: 2 s
	pages    bool          // the route answers people
}

// whole fills in what is usual.
func (b body) whole() body {
	if b.content == nil {
		b.content = []string{kindJSON}
	}
	if b.max == 0 {
		b.max = maxBody
	}
	if b.patience == 0 {
		b.patience = bodyTimeout
	}
	return b
}

// bodies returns the rule of each request: its route's or its mount's, or JSON of at most 1 MiB.
func bodies(mounts []Mount, routes ...route) func(*http.Request) body {
	usual := body{}.whole()
	index := http.NewServeMux()
	rules := map[string]body{}
	add := func(pattern string, rule body) {
		index.Handle(pattern, http.NotFoundHandler())
		rules[pattern] = rule.whole()
	}
	for _, m := range mounts {
		for _, p := range m.Patterns {
			add(p, body{content: m.Content, max: m.MaxBody, pages: m.Pages})
		}
	}
	if homeOf(mounts) != "" {
		add("GET /{$}", body{pages: true})
	}
	for _, t := range routes {
		add(t.pattern(), t.takes)
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
