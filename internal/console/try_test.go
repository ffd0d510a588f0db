package console

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/hotcell/hotcell/internal/a2e"
)

const manySchema = `
version: '1'
timeout_seconds: 90
examples:
  - title: "<script>first</script>"
    arguments: {text: "from the example", tags: [a, b], "<img src=x onerror=alert(1)>": "x"}
input_schema:
  type: object
  required: [text, level]
  properties:
    text: {type: string, title: "The <script>text</script>", description: "What to read", minLength: 3, maxLength: 1000}
    level: {enum: [low, high, 3]}
    n: {type: integer, minimum: 1, maximum: 10, default: 4}
    ratio: {type: number, exclusiveMaximum: 1}
    on: {type: boolean}
    day: {type: string, format: date}
    tags: {type: array, maxItems: 3, items: {type: string}}
    sizes: {type: array, items: {type: integer}}
    deep: {type: object, properties: {a: {type: string}}}
    key: {type: string, format: password}
    pin: {type: integer, writeOnly: true, default: 1234}
    code: {type: string, pattern: "^(a+)+$"}
    "<img src=x onerror=alert(1)>": {type: string, description: "</label><script>alert(1)</script>", examples: ['" onfocus="alert(1)']}
`

func trying(t *testing.T) (*shelf, *maker, *browser) {
	s := newShelf(t, "many/SKILL.md", skillMD("many", evil, "x"), "many/skill.yaml", manySchema, "bare/SKILL.md", skillMD("bare", "No schema.", "x"), "bare/skill.yaml", "version: '1'\n",
		"blocked/SKILL.md", "nothing")
	m := &maker{desk: s.desk, free: make(chan struct{})}
	close(m.free)
	s.options.Handler = m
	return s, m, s.as(t, "alice")
}

// control returns the field of a form that a label names.
func labelled(t *testing.T, page *html.Node, name string) *html.Node {
	t.Helper()
	var found *html.Node
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode && attr(n, "name") == name && found == nil {
			found = n
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(page)
	if found == nil {
		t.Fatalf("no field %q", name)
	}
	return found
}

func TestTryFormShowsTheSchema(t *testing.T) {
	_, _, b := trying(t)
	page := pageOf(t, b.get("/console/skills/many/try"), 200)
	for name, want := range map[string]struct{ data, kind string }{
		"arg:text": {"textarea", ""}, "arg:level": {"select", ""}, "arg:n": {"input", "number"}, "arg:ratio": {"input", "number"}, "arg:on": {"select", ""},
		"arg:day": {"input", "date"}, "arg:tags": {"textarea", ""}, "arg:sizes": {"textarea", ""}, "arg:deep": {"textarea", ""}, "arg:key": {"input", "password"},
		"arg:pin": {"input", "password"}, "arg:<img src=x onerror=alert(1)>": {"input", "text"},
	} {
		n := labelled(t, page, name)
		if n.Data != want.data || want.kind != "" && attr(n, "type") != want.kind {
			t.Errorf("%s: <%s type=%q>", name, n.Data, attr(n, "type"))
		}
	}
	if n := labelled(t, page, "arg:n"); attr(n, "value") != "4" || attr(n, "min") != "1" || attr(n, "max") != "10" || attr(n, "step") != "1" {
		t.Errorf("%v", n.Attr)
	}
	if n := labelled(t, page, "arg:pin"); attr(n, "value") != "" {
		t.Errorf("a secret is shown: %v", n.Attr)
	}
	if n := labelled(t, page, "arg:code"); attr(n, "pattern") != "" {
		t.Error("a stranger's pattern runs in the browser")
	}
	if n := labelled(t, page, "timeout"); attr(n, "placeholder") != "90" {
		t.Errorf("%v", n.Attr)
	}
	has(t, page, "The <script>text</script>", "3 to 1000 characters", "1 to 10", "one on each line", "pattern ^(a+)+$", "<script>first</script>")
	page = pageOf(t, b.get("/console/skills/many/try?example=0"), 200)
	if got := said(labelled(t, page, "arg:text")); got != "from the example" {
		t.Errorf("%q", got)
	}
	if got := said(labelled(t, page, "arg:tags")); got != "a\nb" {
		t.Errorf("%q", got)
	}
	pageOf(t, b.get("/console/skills/many/try?example=9"), 200)
	has(t, pageOf(t, b.get("/console/skills/blocked/try"), 404), "can't be called")
	pageOf(t, b.get("/console/skills/none/try"), 404)
}

func TestTryCallsWithWhatWasTyped(t *testing.T) {
	_, m, b := trying(t)
	b.get("/console/skills/many/try")
	w := b.post("/console/skills/many/try", "arg:text", "one\r\ntwo", "arg:level", `3`, "arg:n", "7", "arg:ratio", "0.50", "arg:on", "false", "arg:tags", "x\r\n\r\n y", "arg:sizes", " 1 \n22",
		"arg:deep", `{"a": "b", "big": 12345678901234567890}`, "arg:key", "s3cret", "arg:<img src=x onerror=alert(1)>", "v", "timeout", "12", "arg:none", "ignored", "csrf", b.mark)
	if w.Code != 303 || !strings.HasPrefix(w.Header().Get("Location"), "/console/calls/call-") {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	got, _ := json.Marshal(m.asked[0].Arguments)
	want := `{"\u003cimg src=x onerror=alert(1)\u003e":"v","deep":{"a":"b","big":12345678901234567890},"key":"s3cret","level":3,"n":7,"on":false,"ratio":0.50,"sizes":[1,22],"tags":["x"," y"],"text":"one\ntwo"}`
	if string(got) != want || *m.asked[0].Timeout != 12 || m.asked[0].Name != "many" || m.who[0].Principal != "alice" || m.who[0].Door != "console" {
		t.Errorf("%s\n%s\n%+v", got, want, m.asked[0])
	}
	w = b.post("/console/skills/many/try", "whole", "1", "json", `{"text": "abc", "level": "low", "more": [1]}`)
	if got, _ := json.Marshal(m.asked[1].Arguments); w.Code != 303 || string(got) != `{"level":"low","more":[1],"text":"abc"}` {
		t.Errorf("%d %s", w.Code, got)
	}
	if w = b.post("/console/skills/bare/try", "json", ""); w.Code != 303 || len(m.asked[2].Arguments) != 0 {
		t.Errorf("%d %v", w.Code, m.asked)
	}
}

func TestTryFaults(t *testing.T) {
	s, m, b := trying(t)
	b.get("/console/skills/many/try")
	good := []string{"arg:text", "abc", "arg:level", `"low"`}
	for name, tt := range map[string]struct{ value, want string }{
		"arg:text": {"ab", "Expected at least 3 characters, got 2."}, "arg:level": {"", "Choose one: it is required."}, "arg:n": {"11", "Expected at most 10."},
		"arg:ratio": {"1", "Expected less than 1."}, "arg:sizes": {"1\n1.5", "Line 2: expected a whole number."}, "arg:tags": {"a\nb\nc\nd", "Expected at most 3 lines, got 4."},
		"arg:deep": {"{\n  x", "at line 2, column 3."}, "arg:on": {"maybe", "This is none of the values that it may have"}, "timeout": {"0", "Expected a whole number of seconds above 0"},
	} {
		w := b.post("/console/skills/many/try", with(good, "arg:key", "s3cret", name, tt.value)...)
		page := pageOf(t, w, 422)
		has(t, page, tt.want)
		field := labelled(t, page, name)
		if attr(field, "aria-invalid") != "true" || !strings.Contains(attr(field, "aria-describedby"), "-fault") {
			t.Errorf("%s: %v", name, field.Attr)
		}
		if value := attr(field, "value") + said(field); !strings.Contains(value, tt.value) && field.Data != "select" {
			t.Errorf("%s: %q is lost: %q", name, tt.value, value)
		}
		if name != "arg:text" && strings.TrimSpace(said(labelled(t, page, "arg:text"))) != "abc" {
			t.Errorf("%s: other fields are lost", name)
		}
		if strings.Contains(w.Body.String(), "s3cret") {
			t.Errorf("%s: a secret is shown again", name)
		}
	}
	for _, n := range []string{"1e999", "0x10", "1_000", "abc", "--1", "1.5", "NaN", strings.Repeat("9", 100), "true", `"1"`} {
		pageOf(t, b.post("/console/skills/many/try", with(good, "arg:n", n)...), 422)
	}
	w := b.post("/console/skills/many/try", "whole", "1", "json", `{"key": "s3cret", "text": "typed"} x`)
	has(t, pageOf(t, w, 422), "This is no JSON")
	if strings.Contains(w.Body.String(), "s3cret") {
		t.Error("a secret is shown again")
	}
	has(t, pageOf(t, b.post("/console/skills/many/try", "whole", "1", "json", `[1]`), 422), "got a list")
	has(t, pageOf(t, b.post("/console/skills/bare/try", "json", "{"+strings.Repeat(`"a":{`, 2000)), 422), "This is no JSON")
	has(t, pageOf(t, b.post("/console/skills/bare/try", "json", `{"a":1,"a":2}`), 422), "a")
	if len(m.asked) > 0 {
		t.Errorf("calls were made: %v", m.asked)
	}
	m.fail = a2e.Errorf(a2e.SchemaViolation, "arguments.deep.a: expected string, got number; arguments: too odd <b>")
	w = b.post("/console/skills/many/try", with(good, "arg:deep", `{"a":1}`, "arg:key", "s3cret")...)
	page := pageOf(t, w, 422)
	has(t, page, ".a: expected string, got number", "arguments: too odd <b>", "1 field needs")
	if attr(labelled(t, page, "arg:deep"), "aria-invalid") != "true" || strings.Contains(w.Body.String(), "s3cret") {
		t.Error("the field is not marked, or a secret is shown")
	}
	if w := s.as(t, "read").get("/console/skills/many/try"); w.Code != 403 {
		t.Errorf("without the scope of calls: %d", w.Code)
	}
}

// Schemas that are odd or hostile make a form or none, and never a fault.
func TestOddSchemas(t *testing.T) {
	for input, want := range map[string]int{
		``: 0, `null`: 0, `[]`: 0, `{"properties": []}`: 0, `{"properties": {"a": true, "b": null, "c": []}}`: 3, `{"oneOf": [{}]}`: 0,
		`{"properties": {"a": {"type": ["string", "null"]}, "b": {"type": ["string", "integer"]}}}`: 2, `{"required": "a", "properties": {"a": {"type": "array", "items": [{}]}}}`: 1,
		`{"properties": {"a": {"type": "array", "items": true}, "b": {"enum": []}, "c": {"const": {"x": 1}}}}`: 3, `{"properties": {"a": {"$ref": "#/x"}}}`: 1,
		`{"properties": {"a": {"minimum": "1", "type": "integer", "maxLength": -1, "minLength": 1.5, "default": {"x": []}}}}`: 1,
	} {
		if got := fieldsOf(json.RawMessage(input), nil); len(got) != want {
			t.Errorf("%s: %d fields, want %d", input, len(got), want)
		}
	}
	if got := fieldsOf(json.RawMessage(`{}`), []string{"a", "b", "a"}); len(got) != 2 || got[0].Key != "a" {
		t.Errorf("%v", got)
	}
	many := strings.Repeat(`"x": {}, `, 3)
	for i := range 200 {
		many += `"k` + strings.Repeat("x", i) + `": {},`
	}
	if got := fieldsOf(json.RawMessage(`{"properties": {`+strings.TrimSuffix(many, ",")+`}}`), nil); got != nil {
		t.Errorf("%d fields", len(got))
	}
}

// What an agent may not use, a token that speaks for it can't try.
func TestTryAsAnAgent(t *testing.T) {
	s, m, _ := trying(t)
	if _, err := s.agents.Create(t.Context(), caller("alice"), 0, "helper"); err != nil {
		t.Fatal(err)
	}
	b := s.as(t, "bound")
	pageOf(t, b.get("/console/skills/many/try"), 404)
	pageOf(t, b.post("/console/skills/many/try", "arg:text", "abc", "arg:level", `"low"`), 404)
	if len(m.asked) > 0 {
		t.Error("it was called")
	}
}
