package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

// Each row of the error table of protocols.md 3.6 and docs/rest.md, on a read and on a write.
func TestErrorTable(t *testing.T) {
	want := map[catalog.Code]int{
		"VALIDATION_ERROR": 422, "SKILL_INVALID": 422, "SKILL_NOT_FOUND": 404, "SKILL_FILE_NOT_FOUND": 404, "FILE_NOT_FOUND": 404, "FORBIDDEN": 403,
		"SKILL_NAME_TAKEN": 409, "SKILL_NAME_RESERVED": 409, "NO_PREVIOUS_VERSION": 409, "SKILL_LIMIT_REACHED": 422, "TOO_MANY_FILES": 422,
		"TOTAL_SIZE_EXCEEDED": 422, "FILE_TOO_LARGE": 422, "DESCRIPTION_TOO_LONG": 422, "AGENT_NOT_FOUND": 404, "AGENT_NAME_TAKEN": 409,
		"AGENT_IN_USE": 409, "TOOL_NOT_FOUND": 404, "APPROVAL_NOT_FOUND": 404, "APPROVAL_DECIDED": 409, "VERSION_NOT_FOUND": 404,
		"BUNDLE_INVALID": 422, "PRECONDITION_FAILED": 412,
	}
	if len(want) != len(statusOf) {
		t.Errorf("%d rows, and %d codes have a status", len(want), len(statusOf))
	}
	for code, status := range want {
		s := newShop()
		s.err = fmt.Errorf("deep: %w", &catalog.Error{Code: code, Message: "Why <so>.", Warnings: []catalog.Finding{{Code: "W", Severity: "warning", Message: "m"}}})
		h := New(stocked(s, Options{}))
		body := `{"error":{"code":"` + string(code) + `","message":"Why <so>."}}` + "\n"
		if code == catalog.SkillInvalid || code == catalog.BundleInvalid {
			body = strings.TrimSuffix(body, "}\n") + `,"data":{"errors":[],"warnings":[{"code":"W","severity":"warning","message":"m"}]}}` + "\n"
		}
		read := status
		if code == catalog.FileTooLarge {
			read = 413
		}
		if w := ask(h, "GET", "/api/v1/custom-skills/x/files/y"); w.Code != read || w.Body.String() != body {
			t.Errorf("%s on a read: %d %s", code, w.Code, w.Body)
		}
		if w := tell(h, "POST", "/api/v1/custom-skills", `{"name":"x"}`); w.Code != status || w.Body.String() != body {
			t.Errorf("%s on a write: %d %s", code, w.Code, w.Body)
		}
	}
}

// What nobody classified is in the log and nowhere else.
func TestUnclassifiedErrors(t *testing.T) {
	var log bytes.Buffer
	s := newShop()
	s.err = errors.New("disk /secret is full")
	h := New(stocked(s, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}))
	for _, target := range []string{"/api/v1/skills", "/api/v1/custom-skills", "/api/v1/agents", "/api/v1/tools", "/api/v1/approvals", "/api/v1/principals"} {
		log.Reset()
		w := ask(h, "GET", target)
		if w.Code != 500 || w.Body.String() != `{"error":{"code":"INTERNAL","message":"internal error"}}`+"\n" || !strings.Contains(log.String(), "/secret") {
			t.Errorf("%s: %d %s\n%s", target, w.Code, w.Body, log.String())
		}
	}
	s.err = &catalog.Error{Code: "NO_CODE_OF_OURS", Message: "/secret"}
	if w := ask(h, "GET", "/api/v1/skills"); w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Each fault of a body is VALIDATION_ERROR and names the field; nothing is written.
func TestBadBodies(t *testing.T) {
	for body, want := range map[string]string{
		``:                          "Request body must be valid JSON: unexpected end of JSON input.",
		`{`:                         "Request body must be valid JSON: unexpected end of JSON input.",
		"{\"name\":\"\xff\"}":       "Request body must be valid JSON: it is not UTF-8.",
		`{"body":"a\ud800"}`:        `Request body must be valid JSON: \\ud800 is half a character.`,
		`{"body":"\udc00\ud800"}`:   `Request body must be valid JSON: \\udc00 is half a character.`,
		`{"body":"\ud83d\\ude00"}`:  `Request body must be valid JSON: \\ud83d is half a character.`,
		`[]`:                        "request body: expected an object, got a list",
		`null`:                      "request body: expected an object, got null",
		`{"name":7}`:                "name: expected a string, got a number",
		`{"name":"x","name":"y"}`:   `"name" stands twice`,
		`{"nope":1}`:                `unknown field "nope": expected principal_id, name, description`,
		`{"Name":"x"}`:              `unknown field "Name"`,
		`{"files":[]}`:              "files: expected an object, got a list",
		`{"files":null}`:            "files: expected an object, got null",
		`{"files":"x"}`:             "files: expected an object, got a string",
		`{"files":{"a":1}}`:         `files."a": expected the file's content as a string, got a number`,
		`{"files":{"a":null}}`:      `files."a": expected the file's content as a string, got null`,
		`{"files":{"a":"","a":""}}`: `files."a" stands twice`,
		`{"metadata":[]}`:           "metadata: expected an object, got a list",
		`{"metadata":{"a":{}}}`:     `metadata."a": expected a string, a number, true or false, got an object`,
		`{"metadata":{"a":[]}}`:     `metadata."a": expected a string, a number, true or false, got a list`,
		`{"metadata":{"a":null}}`:   `metadata."a": expected a string, a number, true or false, got null`,
		`{"principal_id":0}`:        "principal_id: expected a whole number above 0",
		`{"principal_id":-1}`:       "principal_id: expected a whole number above 0",
		`{"principal_id":1.5}`:      "principal_id: expected a whole number above 0",
		`{"principal_id":"2"}`:      "principal_id: expected a whole number above 0",
		`{"body":true}`:             "body: expected a string, got true",
		`{"allowed_tools":["a"]}`:   "allowed_tools: expected a string, got a list",
	} {
		s := newShop()
		h := New(stocked(s, Options{}))
		for _, route := range [][2]string{{"POST", "/api/v1/custom-skills"}, {"PUT", "/api/v1/custom-skills/x"}} {
			w := tell(h, route[0], route[1], body)
			if w.Code != 422 || !strings.HasPrefix(w.Body.String(), `{"error":{"code":"VALIDATION_ERROR","message":"`+strings.ReplaceAll(want, `"`, `\"`)) || len(s.drafts) > 0 {
				t.Errorf("%s %s: %d %s\nwant %s", route[0], body, w.Code, w.Body, want)
			}
		}
	}
	h := New(stocked(newShop(), Options{}))
	if w := tell(h, "POST", "/api/v1/custom-skills?principal_id=2", `{"principal_id":1,"name":"x"}`); w.Code != 422 || !strings.Contains(w.Body.String(), "the body says 1, the query 2") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for target, body := range map[string]string{
		"PUT /api/v1/agents/7/tools/skill/override":   `{"settings":{"allowed_skills":["a",1]}}`,
		"PUT /api/v1/agents/7/tools/skill/override?2": `{"settings":{"allowed_skills":"[1]"}}`,
		"PUT /api/v1/agents/7/tools/skill/override?3": `{"settings":{"allowed_skills":"a"}}`,
		"PUT /api/v1/agents/7/tools/skill/override?4": `{"settings":{}}`,
		"PUT /api/v1/agents/7/tools/skill/override?5": `{"settings":{"allowed_skills":[],"x":1}}`,
		"PUT /api/v1/agents/7/tools/skill/override?6": `{}`,
		"POST /api/v1/agents":                         `{}`,
		"POST /api/v1/agents?2":                       `{"name":"x","x":1}`,
		"POST /api/v1/approvals/x/deny":               `{"why":"` + strings.Repeat("x", maxWhy+1) + `"}`,
		"POST /api/v1/approvals/x/approve":            `{"why":""}`,
		"DELETE /api/v1/custom-skills/x":              `{"x":1}`,
		"POST /v1/skills/x/rollback":                  `{}`,
	} {
		method, path, _ := strings.Cut(target, " ")
		if w := tell(h, method, path, body); w.Code != 422 || !strings.Contains(w.Body.String(), `"code":"VALIDATION_ERROR"`) {
			t.Errorf("%s %s: %d %s", target, body, w.Code, w.Body)
		}
	}
	big := `{"body":"` + strings.Repeat("x", maxDraft) + `"}`
	r := httptest.NewRequest("PUT", "/api/v1/custom-skills/x", io.NopCloser(strings.NewReader(big)))
	r.Host, r.ContentLength = "localhost", -1
	r.Header.Set("Content-Type", kindJSON)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 413 || !strings.Contains(w.Body.String(), `"code":"TOO_LARGE"`) {
		t.Errorf("a long body: %d %s", w.Code, w.Body)
	}
}

// Drafts arrive as they were meant: what is absent, null, empty.
func TestDrafts(t *testing.T) {
	s := newShop()
	h := New(stocked(s, Options{}))
	for _, body := range []string{
		`{"name":"x"}`,
		`{"license":null,"compatibility":"","allowed_tools":null,"metadata":null,"files":{}}`,
		`{"allowed_tools":"","metadata":{},"description":"d"}`,
	} {
		method, target := "PUT", "/api/v1/custom-skills/x"
		if strings.Contains(body, "name") {
			method, target = "POST", "/api/v1/custom-skills/"
		}
		if w := tell(h, method, target, body); w.Code/100 != 2 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	a, b, c := s.drafts[0], s.drafts[1], s.drafts[2]
	if a.License != nil || a.Metadata != nil || a.Files != nil || a.AllowedTools != nil || a.RevokeTools || a.Provenance != "human" {
		t.Errorf("%+v", a)
	}
	if *b.License != "" || *b.Compatibility != "" || b.AllowedTools != nil || !b.RevokeTools || len(*b.Metadata) != 0 || len(*b.Files) != 0 || b.Body != nil {
		t.Errorf("%+v", b)
	}
	if *c.AllowedTools != "" || c.RevokeTools || len(*c.Metadata) != 0 || *c.Description != "d" || c.License != nil {
		t.Errorf("%+v", c)
	}
}

// Each route needs its scope, and nobody who speaks as an agent writes.
func TestScopes(t *testing.T) {
	who := doorkeeper{}
	for _, s := range auth.Scopes() {
		who[string(s)] = auth.Identity{Principal: "p", Scopes: []auth.Scope{s}}
	}
	who["agent"] = auth.Identity{Principal: "p", Agent: "bot", Scopes: []auth.Scope{auth.SkillsWrite, auth.SkillsRead, auth.Calls}}
	o := stocked(newShop(), Options{Auth: who, Handler: answering{}})
	h := New(o)
	for _, route := range newAPI(o).routes() {
		target := regexp.MustCompile(`\{[^}]+\}`).ReplaceAllString(route.path, "1")
		for token := range who {
			w := tell(h, route.method, target, "{}", "Authorization", "Bearer "+token, "Content-Type", route.kinds()[0])
			may := token == "admin" || token == string(route.scope) || token == "agent" && route.scope != auth.Admin
			if refused := strings.Contains(w.Header().Get("WWW-Authenticate"), "insufficient_scope"); refused == may {
				t.Errorf("%s with %s: %d %s", route.id, token, w.Code, w.Body)
			}
			if writes := route.scope == auth.SkillsWrite; token == "agent" && writes != strings.Contains(w.Body.String(), "manage_skill") {
				t.Errorf("%s as an agent: %d %s", route.id, w.Code, w.Body)
			}
		}
		w := tell(h, route.method, target, "{}", "Content-Type", route.kinds()[0])
		code := "unauthenticated"
		if !strings.HasPrefix(route.path, "/v1/calls") {
			code = "UNAUTHENTICATED"
		}
		if w.Code != 401 || !strings.Contains(w.Body.String(), `{"error":{"code":"`+code+`"`) {
			t.Errorf("%s for nobody: %d %s", route.id, w.Code, w.Body)
		}
	}
}

// Routes of what is not there are not there, nor described.
func TestAbsentRoutes(t *testing.T) {
	h := New(Options{Control: &fake{}})
	for _, target := range []string{"/api/v1/skills", "/api/v1/custom-skills", "/api/v1/agents", "/api/v1/approvals", "/v1/skills/x/versions"} {
		if w := ask(h, "GET", target); w.Code != 404 {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
	if w := tell(h, "POST", "/v1/calls", "{}"); w.Code != 405 {
		t.Errorf("POST /v1/calls: %d", w.Code)
	}
	if doc := described(t, h); len(doc.ops) != 6 {
		t.Errorf("%d routes", len(doc.ops))
	}
}

// Every route is in the document with its answers, ids are unique, and references lead somewhere.
func TestDocument(t *testing.T) {
	o := stocked(newShop(), Options{Handler: answering{}, Version: "1.2"})
	h := New(o)
	doc := described(t, h)
	routes := newAPI(o).routes()
	if doc.raw["openapi"] != "3.1.0" || len(doc.ops) != len(routes) {
		t.Errorf("openapi %v, %d of %d routes", doc.raw["openapi"], len(doc.ops), len(routes))
	}
	ids := map[string]bool{}
	for _, route := range routes {
		op := doc.ops[route.method+" "+route.path]
		if op == nil || op["operationId"] != route.id || ids[route.id] || op["summary"] == "" {
			t.Errorf("%s %s: %v", route.method, route.path, op)
			continue
		}
		ids[route.id] = true
		answers := op["responses"].(map[string]any)
		for _, status := range []string{"401", "403", "500"} {
			if answers[status] == nil {
				t.Errorf("%s: no %s", route.id, status)
			}
		}
		named := map[string]bool{}
		for _, p := range listOf(op["parameters"]) {
			p := p.(map[string]any)
			named[p["name"].(string)] = p["in"] == "path" && p["required"] == true
		}
		for _, name := range pathNames(route.path) {
			if !named[name] {
				t.Errorf("%s: no parameter %s", route.id, name)
			}
		}
	}
	schemas := doc.raw["components"].(map[string]any)["schemas"].(map[string]any)
	for _, ref := range regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllStringSubmatch(ask(h, "GET", "/openapi.json").Body.String(), -1) {
		if schemas[ref[1]] == nil {
			t.Errorf("no schema %s", ref[1])
		}
	}
}

// The page needs nothing from anywhere, and its policy says so.
func TestDocsPage(t *testing.T) {
	o := stocked(newShop(), Options{Handler: answering{}, Version: "1.2"})
	w := ask(New(o), "GET", "/docs")
	html := w.Body.String()
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") ||
		!strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for _, bad := range []string{"<script", "http://", "https://", "src=", "style=", "javascript:", "ZgotmplZ"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, route := range newAPI(o).routes() {
		if !strings.Contains(html, "</span> "+route.path+"</code>") || !strings.Contains(html, `id="op-`+route.id+`"`) {
			t.Errorf("the page lacks %s", route.path)
		}
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if ids[m[1]] {
			t.Errorf("id %s stands twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if !ids[m[1]] {
			t.Errorf("#%s leads nowhere", m[1])
		}
	}
}

func TestListTag(t *testing.T) {
	s := newShop()
	o := stocked(s, Options{Auth: doorkeeper{"alice": {Principal: "alice", Scopes: []auth.Scope{auth.Admin}}, "bob": {Principal: "bob", Scopes: []auth.Scope{auth.Admin}}}})
	h := New(o)
	tag := func(target, who string) string {
		return ask(h, "GET", target, shows("Bearer "+who)).Header().Get("ETag")
	}
	first := tag("/api/v1/skills", "alice")
	w := ask(h, "GET", "/api/v1/skills", shows("Bearer alice"), func(r *http.Request) { r.Header.Set("If-None-Match", `"x", W/`+first) })
	if w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("unchanged: %d", w.Code)
	}
	if first != tag("/api/v1/skills", "alice") || first == tag("/api/v1/skills", "bob") || first == tag("/api/v1/skills?principal_id=2", "alice") {
		t.Error("ETags don't tell who asks for what")
	}
	s.version++
	if first == tag("/api/v1/skills", "alice") {
		t.Error("a change has the same ETag")
	}
	if New(o) == nil || first == func() string { h = New(o); s.version--; return tag("/api/v1/skills", "alice") }() {
		t.Error("another process has the same ETag")
	}
}

func TestUploadsAreBounded(t *testing.T) {
	a := newAPI(stocked(newShop(), Options{}))
	for range maxUploads {
		a.uploads <- struct{}{}
	}
	err := a.install(httptest.NewRecorder(), httptest.NewRequest("PUT", "/v1/skills/x", nil))
	if p, ok := err.(*problem); !ok || p.status != 503 || p.retryAfter == 0 {
		t.Errorf("%v", err)
	}
}

// recorder is a reader that notes what it was asked for.
type recorder struct {
	shopReader
	principal int64
	path      string
}

func (r *recorder) File(_ context.Context, _ a2e.Caller, _, path string, principal int64) ([]byte, error) {
	r.path, r.principal = path, principal
	return []byte("x"), nil
}

// A principal is a number above 0 or nobody, and a path arrives as it was meant or not at all.
func FuzzQueryAndPath(f *testing.F) {
	for _, s := range [][2]string{{"1", "a"}, {"-1", "a/b"}, {"0", "../x"}, {"+1", "a//b"}, {"1e3", "a%2Fb"}, {"99999999999999999999", "."}, {" 1", "é"}, {"", "a\x00b"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, principal, path string) {
		got := &recorder{shopReader: shopReader{newShop()}, principal: -1}
		h := New(Options{Control: &fake{}, Reader: got})
		for _, escape := range []func(string) string{escapeAll, escapeSegments} {
			got.path = ""
			r, err := http.NewRequest("GET", "http://localhost/api/v1/skills/x/files/"+escape(path)+"?principal_id="+escapeAll(principal), nil)
			if err != nil {
				t.Skip()
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			switch {
			case w.Code == 200 && (got.path != path || got.principal < 0):
				t.Errorf("%q %q: asked for %q of %d", principal, path, got.path, got.principal)
			case w.Code == 200 && got.principal > 0 && fmt.Sprint(got.principal) != strings.TrimLeft(principal, "0"):
				t.Errorf("%q was taken for %d", principal, got.principal)
			case w.Code != 200 && (w.Code != 404 || !strings.Contains(w.Body.String(), "NOT_FOUND")):
				t.Errorf("%q: %d %s", path, w.Code, w.Body)
			}
		}
	})
}

func escapeAll(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func escapeSegments(s string) string {
	parts := strings.Split(s, "/")
	for i := range parts {
		parts[i] = escapeAll(parts[i])
	}
	return strings.Join(parts, "/")
}

// What a draft is read as is what any JSON decoder reads.
func FuzzDraft(f *testing.F) {
	for _, s := range []string{
		`{"name":"x","body":"\ud83d\ude00\\u0041 \\\\ud800","files":{"a/b":""},"metadata":{"a":1.50,"b":true}}`, `{"allowed_tools":null,"principal_id":7}`, `{"files":{"a":"\u0000"}}`, `{"metadata":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := httptest.NewRequest("PUT", "/x", bytes.NewReader(b))
		d, whose, err := readDraft(r)
		if err != nil {
			return
		}
		var want struct {
			PrincipalID int64 `json:"principal_id"`
			Name, Body  *string
			Files       map[string]string
			Metadata    map[string]json.RawMessage
		}
		if err := json.Unmarshal(b, &want); err != nil || whose != want.PrincipalID || !alike(d.Name, want.Name) || !alike(d.Body, want.Body) {
			t.Errorf("%q: %v %+v", b, err, d)
		}
		if d.Files != nil && !maps.Equal(*d.Files, want.Files) || d.Files == nil && want.Files != nil {
			t.Errorf("%q: %v", b, d.Files)
		}
		if d.Metadata != nil && len(*d.Metadata) != len(want.Metadata) {
			t.Errorf("%q: %v", b, d.Metadata)
		}
	})
}

func alike(a, b *string) bool { return (a == nil) == (b == nil) && deref(a) == deref(b) }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
