package rest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHost(t *testing.T) {
	h := New(Options{Control: &fake{}, Hosts: []string{"Hotcell.Example", "10.0.0.7", "[fd00::7]"}})
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8765": 200, "LOCALHOST:1": 200, "localhost.": 200, "127.0.0.1": 200, "127.9.9.9:80": 200,
		"[::1]": 200, "[::1]:8765": 200, "[::ffff:127.0.0.1]:80": 200,
		"hotcell.example": 200, "HOTCELL.example:443": 200, "10.0.0.7:8765": 200, "[fd00::7]:8765": 200,

		"": 421, "evil.example": 421, "evil.example:8765": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421,
		"10.0.0.8": 421, "0.0.0.0:8765": 421, "[::]:8765": 421, "[::1": 421, "::1": 421, "localhost@evil.example": 421,
		"evil.example@localhost": 421, "localhost:1:2": 421, "[localhost]x": 421, "[::1%25eth0]:1": 421, ".": 421, ":8765": 421,
		"0177.0.0.1": 421, "2130706433": 421, "x.hotcell.example": 421,
	} {
		w := ask(h, "GET", "/healthz", func(r *http.Request) { r.Host = host })
		if w.Code != want {
			t.Errorf("%q: status %d, want %d", host, w.Code, want)
		}
		if want == 421 && !strings.Contains(w.Body.String(), `"code":"host_not_allowed"`) {
			t.Errorf("%q: %s", host, w.Body)
		}
	}
}

func TestOrigin(t *testing.T) {
	h := New(Options{Control: &fake{}, Hosts: []string{"hotcell.example"}})
	for _, tt := range []struct {
		host, origin string
		want         int
	}{
		{"localhost:8765", "http://localhost:8765", 200},
		{"localhost:8765", "http://127.0.0.1:8765", 200},
		{"127.0.0.1:8765", "http://[::1]:8765", 200},
		{"hotcell.example", "https://hotcell.example", 200},
		{"hotcell.example:443", "https://hotcell.example", 200},
		{"localhost", "http://localhost:80", 200},

		{"localhost:8765", "http://localhost:3000", 403},
		{"localhost:8765", "http://localhost", 403},
		{"localhost:8765", "http://evil.example", 403},
		{"localhost:8765", "http://evil.example:8765", 403},
		{"localhost:8765", "http://localhost:8765.evil.example", 403},
		{"localhost:8765", "http://localhost:8765@evil.example", 403},
		{"localhost:8765", "http://evil.example@localhost:8765", 403},
		{"localhost:8765", "http://hotcell.example:8765", 403},
		{"localhost:8765", "null", 403},
		{"localhost:8765", "", 403},
		{"localhost:8765", "file://localhost:8765", 403},
		{"localhost:8765", "chrome-extension://localhost:8765", 403},
		{"localhost:8765", "http://%zz", 403},
	} {
		w := ask(h, "GET", "/healthz", func(r *http.Request) { r.Host = tt.host; r.Header["Origin"] = []string{tt.origin} })
		if w.Code != tt.want {
			t.Errorf("host %q origin %q: status %d, want %d", tt.host, tt.origin, w.Code, tt.want)
		}
	}
	two := func(r *http.Request) {
		r.Header["Origin"] = []string{"http://localhost:8765", "http://evil.example"}
		r.Host = "localhost:8765"
	}
	if w := ask(h, "GET", "/healthz", two); w.Code != 403 {
		t.Errorf("two origins: status %d", w.Code)
	}
}

func TestFetchMetadata(t *testing.T) {
	h := New(Options{Control: &fake{}})
	for site, want := range map[string]int{"none": 200, "same-origin": 200, "same-site": 403, "cross-site": 403, "x": 403} {
		w := ask(h, "GET", "/healthz", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site) })
		if w.Code != want {
			t.Errorf("%s: status %d", site, w.Code)
		}
	}
}

func TestWritesMustBeJSON(t *testing.T) {
	reached := false
	h := guard(nil, bodies(nil), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached = true
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	}))
	big := strings.Repeat("x", maxBody+1)
	for _, tt := range []struct {
		method, kind, body string
		want               int
	}{
		{"POST", "application/json", "{}", 200},
		{"PUT", "Application/JSON; charset=utf-8", "{}", 200},
		{"DELETE", "", "", 200},
		{"DELETE", "application/json", "{}", 200},
		{"POST", "", "", 415},
		{"POST", "text/plain", "{}", 415},
		{"POST", "text/plain; application/json", "{}", 415},
		{"POST", "application/x-www-form-urlencoded", "a=b", 415},
		{"PUT", "multipart/form-data; boundary=x", "{}", 415},
		{"PATCH", "application/json-patch+json", "{}", 415},
		{"DELETE", "text/plain", "x", 415},
		{"DELETE", "", "x", 415},
		{"POST", "application/json", big, 413},
		{"PROPFIND", "", "", 415},
	} {
		reached = false
		r := httptest.NewRequest(tt.method, "/x", strings.NewReader(tt.body))
		r.Host = "localhost"
		if tt.kind != "" {
			r.Header.Set("Content-Type", tt.kind)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.want || reached != (tt.want == 200) {
			t.Errorf("%s %q: status %d, want %d", tt.method, tt.kind, w.Code, tt.want)
		}
	}
	r := httptest.NewRequest("POST", "/x", io.NopCloser(strings.NewReader(big)))
	r.Host, r.ContentLength = "localhost", -1
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 413 {
		t.Errorf("a long body of unknown length: status %d", w.Code)
	}
	r.Header.Add("Content-Type", "text/plain")
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 415 {
		t.Errorf("two content types: status %d", w.Code)
	}
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"localhost:1", "[::1]:1", "evil.example", "127.0.0.1", "a@b", "[", "]", ":", "localhost."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		canonical, ok := allowlist(nil).canonical(s)
		if ok && !strings.HasPrefix(canonical, "localhost:") {
			t.Errorf("%q was taken as %q", s, canonical)
		}
		if ok && strings.Contains(s, "evil") && !strings.Contains(s, ":") {
			t.Errorf("%q was taken", s)
		}
	})
}

// A link of another site may lead to a page for people, and nowhere else; what a page of another site asks for by itself is
// refused even there.
func TestLinksToPages(t *testing.T) {
	done := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	h := New(Options{Mounts: []Mount{
		{Patterns: []string{"/pages/"}, Content: []string{"application/x-www-form-urlencoded"}, Pages: true, Handler: done},
		{Patterns: []string{"/other"}, Handler: done},
	}})
	for name, tt := range map[string]struct {
		method, path string
		header       []string
		want         int
	}{
		"a link":                   {"GET", "/pages/x", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 204},
		"a link of a neighbour":    {"GET", "/pages/x", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 204},
		"a link elsewhere":         {"GET", "/other", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403},
		"a frame":                  {"GET", "/pages/x", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		"a script":                 {"GET", "/pages/x", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, 403},
		"a form of another site":   {"POST", "/pages/x", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Origin", "https://evil.example", "Content-Type", "application/x-www-form-urlencoded"}, 403},
		"a form of our own":        {"POST", "/pages/x", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1", "Content-Type", "application/x-www-form-urlencoded"}, 204},
		"a link with an origin":    {"GET", "/pages/x", []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Origin", "https://evil.example"}, 403},
		"another name (rebinding)": {"GET", "/pages/x", []string{"Host", "evil.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 421},
	} {
		r := httptest.NewRequest(tt.method, "http://127.0.0.1"+tt.path, nil)
		for i := 0; i < len(tt.header); i += 2 {
			r.Header.Set(tt.header[i], tt.header[i+1])
		}
		if host := r.Header.Get("Host"); host != "" {
			r.Host = host
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// A browser that asks for / is led to where the pages begin. Others are told what there is, as without pages.
func TestRootLeadsHome(t *testing.T) {
	mount := Mount{Patterns: []string{"/pages/"}, Pages: true, Home: "/pages/", Handler: http.NotFoundHandler()}
	const html = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for name, tt := range map[string]struct {
		mounts       []Mount
		method, path string
		header       []string
		want         int
	}{
		"a browser":              {[]Mount{mount}, "GET", "/", []string{"Accept", html}, 303},
		"its head":               {[]Mount{mount}, "HEAD", "/", []string{"Accept", html}, 303},
		"a link":                 {[]Mount{mount}, "GET", "/", []string{"Accept", html, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 303},
		"a script elsewhere":     {[]Mount{mount}, "GET", "/", []string{"Accept", html, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, 403},
		"curl":                   {[]Mount{mount}, "GET", "/", []string{"Accept", "*/*"}, 404},
		"nothing said":           {[]Mount{mount}, "GET", "/", nil, 404},
		"JSON":                   {[]Mount{mount}, "GET", "/", []string{"Accept", "application/json"}, 404},
		"JSON rather than pages": {[]Mount{mount}, "GET", "/", []string{"Accept", "application/json, text/html;q=0.5"}, 404},
		"a form":                 {[]Mount{mount}, "POST", "/", []string{"Accept", html, "Content-Type", "application/json"}, 404},
		"another path":           {[]Mount{mount}, "GET", "/x", []string{"Accept", html}, 404},
		"no pages":               {nil, "GET", "/", []string{"Accept", html}, 404},
	} {
		r := httptest.NewRequest(tt.method, "http://127.0.0.1"+tt.path, nil)
		for i := 0; i < len(tt.header); i += 2 {
			r.Header.Set(tt.header[i], tt.header[i+1])
		}
		w := httptest.NewRecorder()
		New(Options{Mounts: tt.mounts}).ServeHTTP(w, r)
		if to := w.Header().Get("Location"); w.Code != tt.want || (to == "/pages/") != (tt.want == 303) {
			t.Errorf("%s: %d to %q: %s", name, w.Code, to, w.Body)
		}
		if w.Code == 404 && !strings.Contains(w.Body.String(), "not_found") {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}
