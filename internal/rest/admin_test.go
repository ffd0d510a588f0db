package rest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestAdminListener(t *testing.T) {
	figures := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "figures 1\n") })
	h := NewAdmin(Options{Auth: house, Metrics: figures})
	for name, tt := range map[string]struct {
		method, target string
		adjust         func(*http.Request)
		status         int
		says           string
	}{
		"metrics":             {"GET", "/metrics", shows("Bearer root"), 200, "figures 1"},
		"metrics, no token":   {"GET", "/metrics", shows(), 401, ""},
		"metrics, no admin":   {"GET", "/metrics", shows("Bearer alice"), 403, "admin"},
		"index":               {"GET", "/debug/pprof/", shows("Bearer root"), 200, "goroutine"},
		"index, no token":     {"GET", "/debug/pprof/", shows(), 401, ""},
		"goroutines":          {"GET", "/debug/pprof/goroutine?debug=1", shows("Bearer root"), 200, "goroutine profile"},
		"heap, no admin":      {"GET", "/debug/pprof/heap", shows("Bearer alice"), 403, ""},
		"trace":               {"GET", "/debug/pprof/trace?seconds=0.01", shows("Bearer root"), 200, ""},
		"long":                {"GET", "/debug/pprof/profile?seconds=51", shows("Bearer root"), 400, "seconds"},
		"a long difference":   {"GET", "/debug/pprof/heap?seconds=3600", shows("Bearer root"), 400, "seconds"},
		"no number":           {"GET", "/debug/pprof/trace?seconds=NaN", shows("Bearer root"), 400, "seconds"},
		"command line":        {"GET", "/debug/pprof/cmdline", shows("Bearer root"), 404, "Unknown profile"},
		"health":              {"GET", "/healthz", shows(), 200, "ok"},
		"ready":               {"GET", "/readyz", shows(), 200, "ready"},
		"calls are not here":  {"GET", "/v1/calls", shows("Bearer root"), 404, ""},
		"write":               {"POST", "/debug/pprof/symbol", shows("Bearer root"), 415, ""},
		"another host's name": {"GET", "/metrics", func(r *http.Request) { r.Host = "evil.example"; shows("Bearer root")(r) }, 421, ""},
		"a web page":          {"GET", "/metrics", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example"); shows("Bearer root")(r) }, 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(h, tt.method, tt.target, tt.adjust)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.says) {
				t.Errorf("%d %.200s", w.Code, w.Body)
			}
		})
	}
}
