package mcphost

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/testutil"
)

func ptr[T any](v T) *T { return &v }

// What a tool looks like on the wire.
func TestToolsAreSkills(t *testing.T) {
	full := catalog.Entry{Definition: a2e.Definition{
		Name: "word-count", Version: "1.2.0", Description: "Counts words.", WhenToUse: "When words are to be counted.",
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"all":true},"required":["text"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"words":{"type":"integer"}}}`),
		Category:     ptr("text"), Tags: []string{"text", "count"}, TimeoutSeconds: ptr(30), Icon: ptr("https://example.com/i.png"),
	}, ReadOnly: true}
	plain := catalog.Entry{Definition: a2e.Definition{
		Name: "deploy_it", Description: "Deploys. When it is time.", WhenToUse: "When it is time.", InputSchema: json.RawMessage(`{}`),
		OutputSchema: json.RawMessage(`{"type":"string"}`), Icon: ptr("🚀"),
	}}
	hosted := catalog.Entry{Definition: a2e.Definition{Name: "skill-catalog", Description: "Lists skills."}, ReadOnly: true, Hosted: true}
	got, err := json.MarshalIndent([]*mcp.Tool{toolOf(full), toolOf(plain), toolOf(hosted)}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	testutil.Golden(t, "testdata/tools.json", append(got, '\n'))
}

func TestInputSchemas(t *testing.T) {
	for in, want := range map[string]string{
		``:                                     `{"type":"object"}`,
		`{}`:                                   `{"type":"object"}`,
		`true`:                                 `{"type":"object"}`,
		`false`:                                `{"type":"object"}`,
		`null`:                                 `{"type":"object"}`,
		`[]`:                                   `{"type":"object"}`,
		`not JSON`:                             `{"type":"object"}`,
		`{"type":"object"} {}`:                 `{"type":"object"}`,
		`{"type":"object","z":1,"a":2}`:        `{"type":"object","z":1,"a":2}`, // as it was written
		`{"properties":{"a":{}}}`:              `{"properties":{"a":{}},"type":"object"}`,
		`{"type":["object","null"]}`:           `{"type":"object"}`,
		`{"type":"string","minLength":1}`:      `{"allOf":[{"minLength":1,"type":"string"}],"type":"object"}`,
		`{"type":7}`:                           `{"type":"object"}`,
		`{"type":"object","properties":[1]}`:   `{"type":"object"}`,
		`{"type":"object","required":"a"}`:     `{"type":"object"}`,
		`{"type":"object","required":[1]}`:     `{"type":"object"}`,
		`{"type":"object","required":["a"]}`:   `{"type":"object","required":["a"]}`,
		`{"type":"object","maximum":1e400}`:    `{"type":"object","maximum":1e400}`,
		`{"$ref":"#/$defs/a","$defs":{"a":1}}`: `{"$defs":{"a":1},"$ref":"#/$defs/a","type":"object"}`,
		`{"type":"object","properties":{"a":true,"b":false,"c":null,"d":{"x":1}}}`: `{"properties":{"a":{},"b":{"not":{}},"c":{},"d":{"x":1}},"type":"object"}`,
	} {
		if got := string(inputSchema(json.RawMessage(in))); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

func TestOutputSchemasDescribeObjects(t *testing.T) {
	for in, want := range map[string]string{
		``: ``, `{}`: ``, `true`: ``, `{"type":"array"}`: ``, `{"type":["object"]}`: ``, `{"properties":{}}`: ``, `nonsense`: ``,
		`{"type":"object","z":1,"a":2}`:              `{"type":"object","z":1,"a":2}`,
		`{"type":"object","properties":{"a":false}}`: `{"properties":{"a":{"not":{}}},"type":"object"}`,
	} {
		if got := string(outputSchema(json.RawMessage(in))); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

func FuzzSchemas(f *testing.F) {
	for _, seed := range []string{`{}`, `{"type":"string"}`, `{"properties":{"a":true}}`, `[1]`, `{"type":"object","required":[null]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m struct {
			Type       string
			Properties map[string]map[string]any
			Required   []string
		}
		if err := json.Unmarshal(inputSchema(raw), &m); err != nil || m.Type != "object" {
			t.Errorf("%q becomes %s: %v", raw, inputSchema(raw), err)
		}
		if out := outputSchema(raw); out != nil && (json.Unmarshal(out, &m) != nil || m.Type != "object") {
			t.Errorf("%q becomes %s", raw, out)
		}
	})
}

// Each sees what is everybody's and its own, and what its agent may use of it.
func TestListsAreTheCallers(t *testing.T) {
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		r := newRig(t, skill("shared"), skill("hers").of("alice"), skill("his").of("bob"))
		odd := skill("odd")
		odd.entry.Definition.InputSchema = json.RawMessage(`{"type":`)
		r.shelf.put(odd)
		r.shelf.put(skill("no tool's name"))
		r.shelf.denied["bot shared"] = true
		for who, want := range map[string][]string{"alice": {"hers", "odd", "shared"}, "bob": {"his", "odd", "shared"}, "": {"odd", "shared"}} {
			if diff := cmp.Diff(want, names(t, open(r, auth.Identity{Principal: who}, nil))); diff != "" {
				t.Errorf("%q (-want +got):\n%s", who, diff)
			}
		}
		bound := auth.Identity{Principal: "alice", Agent: "bot"}
		if diff := cmp.Diff([]string{"hers", "odd"}, names(t, open(r, bound, nil))); diff != "" {
			t.Errorf("an agent (-want +got):\n%s", diff)
		}
	})
}

func names(t *testing.T, s *mcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func TestToolsComeInPages(t *testing.T) {
	r := newRig(t)
	var want []string
	for i := range toolsPage + 5 {
		name := fmt.Sprintf("s-%05d", i)
		want = append(want, name)
		r.shelf.skills = append(r.shelf.skills, skill(name))
	}
	s := overStdio(t, r, alice, revisions[0], nil)
	if diff := cmp.Diff(want, names(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first, err := s.ListTools(t.Context(), nil)
	if err != nil || len(first.Tools) != toolsPage || first.NextCursor == "" {
		t.Fatalf("%d tools, cursor %q, %v", len(first.Tools), first.NextCursor, err)
	}
	r.shelf.remove(first.Tools[toolsPage-1].Name) // what the cursor names may be gone
	next, err := s.ListTools(t.Context(), &mcp.ListToolsParams{Cursor: first.NextCursor})
	if err != nil || len(next.Tools) != 5 || next.NextCursor != "" {
		t.Errorf("%d tools, cursor %q, %v", len(next.Tools), next.NextCursor, err)
	}
	for _, bad := range []string{"!", "\u00e9", "/w=="} {
		if _, err := s.ListTools(t.Context(), &mcp.ListToolsParams{Cursor: bad}); code(err) != -32602 {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
}

// What fails behind the door is told as an internal error, without its reason.
func TestACatalogueThatFails(t *testing.T) {
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		r := newRig(t, skill("a"))
		s := open(r, alice, nil)
		r.shelf.mu.Lock()
		r.shelf.err = errors.New("secret path")
		r.shelf.mu.Unlock()
		_, err1 := s.ListTools(t.Context(), nil)
		_, err2 := s.ListResources(t.Context(), nil)
		_, err3 := mcp.CallCustomMethod[*listSkillsParams, *listSkillsResult](t.Context(), s, "skills/list", &listSkillsParams{})
		for _, err := range []error{err1, err2, err3} {
			if code(err) != -32603 || !errorIs(err, "internal error") {
				t.Errorf("got %v", err)
			}
		}
	})
}
