package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

// tell makes a request with a body, of JSON unless the header says something else.
func tell(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8765"
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// story is a request of each kind, in an order in which each finds what it needs.
var story = []struct{ method, target, body, header, value string }{
	{"GET", "/api/v1/skills", "", "", ""},
	{"GET", "/api/v1/skills/%20Time-Arithmetic%20", "", "", ""},
	{"GET", "/api/v1/skills/nope", "", "", ""},
	{"GET", "/api/v1/skills/time-arithmetic/files/references/a%20b.md", "", "", ""},
	{"GET", "/api/v1/skills/time-arithmetic/files/references%2Fa%20b.md", "", "", ""},
	{"GET", "/api/v1/skills/time-arithmetic/files/logo.png", "", "", ""},
	{"GET", "/api/v1/skills/time-arithmetic/files/references/a%20b.md", "", "Accept", "application/octet-stream"},
	{"GET", "/api/v1/skills/time-arithmetic/files/nope.md", "", "", ""},
	{"GET", "/api/v1/skills/time-arithmetic/files/../../x/SKILL.md", "", "", ""},
	{"GET", "/api/v1/principals", "", "", ""},
	{"GET", "/api/v1/tools", "", "", ""},
	{"POST", "/api/v1/custom-skills", `{"name":"mine","description":"Does <it> & more.","body":"# Mine\n","license":"","allowed_tools":"read_url  agent",` +
		`"metadata":{"a":true,"b":1.50,"c":"x"},"files":{"z.md":"z","a/b.md":"<&>"}}`, "", ""},
	{"POST", "/api/v1/custom-skills", `{"name":"mine"}`, "", ""},
	{"POST", "/api/v1/custom-skills", `{}`, "", ""},
	{"POST", "/api/v1/custom-skills?principal_id=3", `{"name":"theirs"}`, "", ""},
	{"GET", "/api/v1/custom-skills", "", "", ""},
	{"GET", "/api/v1/custom-skills?principal_id=3", "", "", ""},
	{"GET", "/api/v1/custom-skills/mine", "", "", ""},
	{"GET", "/api/v1/custom-skills/mine", "", "If-None-Match", `"10-1"`},
	{"GET", "/api/v1/custom-skills/mine?principal_id=3", "", "", ""},
	{"GET", "/api/v1/custom-skills/mine/files", "", "", ""},
	{"GET", "/api/v1/custom-skills/mine/files/a/b.md", "", "", ""},
	{"GET", "/api/v1/custom-skills/mine/files/nope", "", "", ""},
	{"GET", "/api/v1/custom-skills/mine/allowlist", "", "", ""},
	{"POST", "/api/v1/custom-skills/mine/restore", "", "", ""},
	{"PUT", "/api/v1/custom-skills/mine", `{"body":"# Yours\n","allowed_tools":null}`, "If-Match", `"10-1"`},
	{"PUT", "/api/v1/custom-skills/mine", `{"body":"# Lost\n"}`, "If-Match", `"10-1"`},
	{"PUT", "/api/v1/custom-skills/mine", `{"name":"other"}`, "", ""},
	{"PUT", "/api/v1/custom-skills/mine?principal_id=3", `{"body":"x"}`, "", ""},
	{"POST", "/api/v1/custom-skills/mine/restore", "{}", "", ""},
	{"DELETE", "/api/v1/custom-skills/mine", "", "If-Match", `"10-2"`},
	{"DELETE", "/api/v1/custom-skills/mine", "", "If-Match", `"x", "10-3"`},
	{"POST", "/api/v1/agents", `{"name":"bot"}`, "", ""},
	{"GET", "/api/v1/agents", "", "", ""},
	{"GET", "/api/v1/agents/bot", "", "", ""},
	{"GET", "/api/v1/agents/8", "", "", ""},
	{"GET", "/api/v1/agents/7/tools/skill/override", "", "", ""},
	{"GET", "/api/v1/agents/7/tools/skill/override?raw=true", "", "", ""},
	{"PUT", "/api/v1/agents/7/tools/skill/override", `{"settings":{"allowed_skills":"[\"time-arithmetic\"]"}}`, "", ""},
	{"PUT", "/api/v1/agents/bot/tools/skill/override", `{"settings":{"allowed_skills":["time-arithmetic","mine"]}}`, "", ""},
	{"GET", "/api/v1/agents/bot/tools/skill/override", "", "", ""},
	{"GET", "/api/v1/agents/bot/tools/skill/override?raw=true", "", "", ""},
	{"PUT", "/api/v1/agents/bot/tools/skill/override", `{"settings":{"allowed_skills":[]}}`, "If-Match", `"old"`},
	{"GET", "/api/v1/agents/bot/tools/calculator/override", "", "", ""},
	{"PUT", "/api/v1/principals/2/tools/skill/override", `{"settings":{"allowed_skills":[]}}`, "", ""},
	{"GET", "/api/v1/principals/2/tools/skill/override?raw=true", "", "", ""},
	{"GET", "/api/v1/principals/3/tools/skill/override", "", "", ""},
	{"PUT", "/api/v1/agents/bot/tools/skill/override", `{"settings":{"allowed_skills":null}}`, "", ""},
	{"GET", "/api/v1/agents/bot/tools/skill/override?raw=true", "", "", ""},
	{"PUT", "/api/v1/agents/bot/skills/Time-Arithmetic", "", "", ""},
	{"DELETE", "/api/v1/agents/bot/skills/time-arithmetic", "", "", ""},
	{"POST", "/api/v1/agents/bot/tools/calculator/enable", "", "", ""},
	{"DELETE", "/api/v1/agents/bot/tools/calculator/enable", "", "", ""},
	{"DELETE", "/api/v1/agents/bot", "", "", ""},
	{"GET", "/api/v1/approvals", "", "", ""},
	{"GET", "/api/v1/approvals?state=approved", "", "", ""},
	{"GET", "/api/v1/approvals?state=x", "", "", ""},
	{"GET", "/api/v1/approvals/ap-1", "", "", ""},
	{"POST", "/api/v1/approvals/ap-1/approve", "", "", ""},
	{"POST", "/api/v1/approvals/ap-1/deny", "", "", ""},
	{"POST", "/api/v1/approvals/ap-2/deny", `{"why":"no"}`, "", ""},
	{"POST", "/api/v1/approvals/ap-3/approve", "", "", ""},
	{"GET", "/api/v1/nope", "", "", ""},
	{"PATCH", "/api/v1/skills", "", "", ""},
	{"PUT", "/v1/skills/up", "zip...", "Content-Type", "application/zip"},
	{"PUT", "/v1/skills/up", "tar.gz...", "Content-Type", "application/gzip"},
	{"PUT", "/v1/skills/up", "nonsense", "Content-Type", "application/zip"},
	{"PUT", "/v1/skills/up", "{}", "", ""},
	{"GET", "/v1/skills/up/versions", "", "", ""},
	{"POST", "/v1/skills/up/rollback", `{"version":"v1"}`, "", ""},
	{"POST", "/v1/skills/up/rollback", `{"version":"v9"}`, "", ""},
	{"DELETE", "/v1/skills/up", "", "", ""},
	{"DELETE", "/v1/skills/up", "", "", ""},
	{"GET", "/v1/skills?tag=x", "", "", ""},
	{"GET", "/v1/calls", "", "", ""},
	{"GET", "/v1/calls?skill=code-review&limit=1", "", "", ""},
	{"GET", "/v1/calls?verdict=ran", "", "", ""},
	{"GET", "/v1/calls?before=x", "", "", ""},
	{"GET", "/v1/calls/01J", "", "", ""},
	{"GET", "/v1/calls/01J/request", "", "", ""},
	{"GET", "/v1/calls/01J/policy", "", "", ""},
	{"GET", "/v1/calls/nope/policy", "", "", ""},
	{"GET", "/v1/calls/01J/events?after=2", "", "", ""},
	{"GET", "/v1/calls/01J/artifacts", "", "", ""},
	{"GET", "/v1/calls/01J/artifacts/out/report.txt", "", "", ""},
	{"GET", "/v1/calls/01J/artifacts/nope", "", "", ""},
	{"DELETE", "/v1/calls/01J", "", "", ""},
	{"POST", "/v1/calls", `{"name":"good","id":"r1"}`, "", ""},
	{"POST", "/v1/calls", `{"name":"nope","id":"r2"}`, "", ""},
	{"POST", "/v1/calls", `{"id":"r3"}`, "", ""},
}

// storyteller is a door where the story works.
func storyteller() (http.Handler, *shop) {
	s := newShop()
	for i := range 2 {
		s.asked = append(s.asked, catalog.Approval{
			ID: fmt.Sprint("ap-", i+1), Principal: 2, Agent: "bot", Tool: "manage_skill", Action: "create", Skill: "new", Arguments: json.RawMessage(`{"name":"new"}`),
			State: "pending", Created: noon.UTC(), Expires: noon.UTC().AddDate(0, 0, 1),
		})
	}
	f := &fake{calls: []control.Call{aCall()}, events: []a2e.Event{
		{Kind: "artifact", Seq: 0, Data: map[string]any{"name": "out/report.txt", "mime": "text/plain", "chunk": "aGkg", "final": false}},
		{Kind: "artifact", Seq: 1, Data: map[string]any{"name": "out/report.txt", "mime": "text/plain", "chunk": "YWdhaW4K", "final": true}},
		{Kind: "artifact", Seq: 2, Data: map[string]any{"name": "../x", "mime": "text/html", "chunk": "aGkg", "final": false}},
	}, paged: true}
	who := doorkeeper{"alice": house["root"]}
	id := who["alice"]
	id.Principal = "alice"
	who["alice"] = id
	h := New(stocked(s, Options{Control: f, Auth: who, Handler: answering{}, Version: "test", Book: shelved{aCall(), olderCall()}}))
	return h, s
}

// answering is a handler that knows one skill.
type answering struct{}

func (answering) Discover(context.Context, a2e.Caller, *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	return nil, nil
}

func (answering) Call(_ context.Context, _ a2e.Caller, req *a2e.CallRequest, _ a2e.EventWriter) *a2e.CallResponse {
	if req.Name != "good" {
		r := a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.UnknownSkill, "unknown skill %q", req.Name), 0)
		r.ID, r.TS, r.CreatedAt = "x", 1, 1
		return r
	}
	return &a2e.CallResponse{
		Header: a2e.Header{ID: "x", TS: 1}, ReqID: req.ID, Name: req.Name, CreatedAt: 1,
		Data: &a2e.Result{Success: true, Data: map[string]any{"answer": json.Number("12345678901234567890")}, DurationMS: 3},
	}
}

// Each answer is golden, and what /openapi.json says that it is.
func TestEnvelopes(t *testing.T) {
	h, _ := storyteller()
	doc := described(t, h)
	var told strings.Builder
	seen := map[string]bool{}
	for _, step := range story {
		headers := []string{"Authorization", "Bearer alice"}
		if step.header != "" {
			headers = append(headers, step.header, step.value)
		}
		w := tell(h, step.method, step.target, step.body, headers...)
		fmt.Fprintf(&told, "%s %s %s%s\n%d %s\n", step.method, step.target, step.body, strings.TrimSuffix(" "+step.header+": "+step.value, " : "), w.Code, w.Header().Get("Content-Type"))
		for _, k := range []string{"ETag", "Location", "Content-Disposition", "Retry-After"} {
			if v := w.Header().Get(k); v != "" && (k != "ETag" || !strings.Contains(step.target, "/api/v1/skills")) {
				fmt.Fprintf(&told, "%s: %s\n", k, v)
			}
		}
		body := w.Body.String()
		if strings.Contains(step.body, "r3") {
			body = "(an id and a time of its own)\n"
		}
		told.WriteString(body + "\n")
		if op := doc.find(step.method, step.target); op != "" {
			seen[op] = true
			doc.agrees(t, op, w)
		} else if w.Code/100 == 2 {
			t.Errorf("%s %s is not in the document", step.method, step.target)
		}
	}
	testutil.Golden(t, "testdata/envelopes.txt", []byte(told.String()))
	for op := range doc.ops {
		if !seen[op] {
			t.Errorf("%s: no request tells its story", op)
		}
	}
}

// apiDoc is /openapi.json as a client reads it.
type apiDoc struct {
	ops map[string]map[string]any // by "METHOD path"
	raw map[string]any
}

func described(t *testing.T, h http.Handler) *apiDoc {
	t.Helper()
	w := ask(h, "GET", "/openapi.json")
	d := &apiDoc{ops: map[string]map[string]any{}}
	if w.Code != 200 || json.Unmarshal(w.Body.Bytes(), &d.raw) != nil {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for path, item := range d.raw["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			d.ops[strings.ToUpper(method)+" "+path] = op.(map[string]any)
		}
	}
	return d
}

// find returns the operation of a request.
func (d *apiDoc) find(method, target string) string {
	target, _, _ = strings.Cut(target, "?")
	segments := strings.Split(target, "/")
	best, fixed := "", -1
	for op := range d.ops {
		m, path, _ := strings.Cut(op, " ")
		parts := strings.Split(path, "/")
		deep := strings.HasSuffix(path, "/files/{path}") || strings.HasSuffix(path, "/artifacts/{name}")
		if m != method || len(parts) != len(segments) && (!deep || len(parts) > len(segments)) {
			continue
		}
		match, n := true, 0
		for i, p := range parts {
			if !strings.HasPrefix(p, "{") {
				match = match && p == segments[i]
				n++
			}
		}
		if match && n > fixed {
			best, fixed = op, n
		}
	}
	return best
}

// agrees looks at an answer through the document: its status, its content type, and its body's schema.
func (d *apiDoc) agrees(t *testing.T, op string, w *httptest.ResponseRecorder) {
	t.Helper()
	answer, ok := d.ops[op]["responses"].(map[string]any)[strconv.Itoa(w.Code)].(map[string]any)
	if !ok {
		t.Errorf("%s: status %d is not in the document", op, w.Code)
		return
	}
	if w.Code == http.StatusNotModified {
		return
	}
	kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	media, ok := answer["content"].(map[string]any)[kind].(map[string]any)
	if _, bytes := answer["content"].(map[string]any)[kindBytes]; !ok && bytes {
		return // a download names a type of its own
	}
	if !ok {
		t.Errorf("%s: %d has no %s in the document", op, w.Code, kind)
		return
	}
	if kind != kindJSON {
		return
	}
	var body any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Errorf("%s: %v", op, err)
		return
	}
	if why := d.valid(media["schema"].(map[string]any), body, ""); why != "" {
		t.Errorf("%s: %d: the body is not what the document says: %s\n%s", op, w.Code, why, w.Body)
	}
}

// valid checks a value against as much of JSON Schema as the document uses, and says what is wrong.
func (d *apiDoc) valid(schema map[string]any, v any, at string) string {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		in, ok := d.raw["components"].(map[string]any)["schemas"].(map[string]any)[name].(map[string]any)
		if !ok {
			return at + ": no schema " + ref
		}
		return d.valid(in, v, at)
	}
	if several := listOf(schema["oneOf"]); several != nil {
		var why []string
		for _, s := range several {
			w := d.valid(s.(map[string]any), v, at)
			if w == "" {
				return ""
			}
			why = append(why, w)
		}
		return strings.Join(why, "; or ")
	}
	if kinds := kindsOf(schema["type"]); kinds != nil && !slices.Contains(kinds, jsonKind(v)) && (jsonKind(v) != "integer" || !slices.Contains(kinds, "number")) {
		return fmt.Sprintf("%s: expected %v, got %s", at, kinds, jsonKind(v))
	}
	switch v := v.(type) {
	case map[string]any:
		return d.validObject(schema, v, at)
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, e := range v {
			if why := d.valid(items, e, fmt.Sprint(at, "[", i, "]")); why != "" {
				return why
			}
		}
	}
	return ""
}

func (d *apiDoc) validObject(schema map[string]any, v map[string]any, at string) string {
	properties, _ := schema["properties"].(map[string]any)
	for _, r := range listOf(schema["required"]) {
		if _, ok := v[r.(string)]; !ok {
			return at + "." + r.(string) + ": is required"
		}
	}
	for k, e := range v {
		p, ok := properties[k].(map[string]any)
		if !ok {
			if p, ok = schema["additionalProperties"].(map[string]any); !ok && schema["additionalProperties"] == false {
				return at + "." + k + ": is not in the document"
			}
		}
		if ok {
			if why := d.valid(p, e, at+"."+k); why != "" {
				return why
			}
		}
	}
	return ""
}

func listOf(v any) []any { l, _ := v.([]any); return l }

func kindsOf(v any) (kinds []string) {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	for _, k := range listOf(v) {
		kinds = append(kinds, k.(string))
	}
	return kinds
}

func jsonKind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
