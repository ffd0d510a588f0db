package executor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/testutil"
)

// login is a catalog with a skill that takes a password, and one whose schema hides where its secret is.
func login(t *testing.T) skills.Catalog {
	t.Helper()
	dir := fstest.MapFS{}
	for name, schema := range map[string]string{
		"login": `{type: object, properties: {user: {type: string}, password: {type: string, format: password},
			hosts: {type: array, items: {type: object, properties: {key: {type: string, writeOnly: true}}}}}}`,
		"opaque": `{type: object, properties: {token: {allOf: [{format: password}]}}}`,
	} {
		dir[name+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: for tests\n---\n")}
		dir[name+"/skill.yaml"] = &fstest.MapFile{Data: []byte("input_schema: " + schema + "\n")}
		dir[name+"/main.py"] = &fstest.MapFile{Data: []byte("pass\n")}
	}
	lib, err := skills.Load([]skills.Source{{Label: "project", FS: dir, Path: "test"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

func keeping(c *Config) { c.Keeps = true }

// requestOf waits until the journal has the request of a call.
func requestOf(t *testing.T, s *Supervisor, whose control.Whose, id string) *control.Request {
	t.Helper()
	var got *control.Request
	testutil.Poll(t, 30*time.Second, func() (ok bool) {
		var err error
		if got, err = s.Request(t.Context(), whose, id); err != nil {
			t.Fatal(err)
		}
		return got.Missing != "it is not kept any more"
	})
	return got
}

// What a call was asked is kept where it ran and for the next supervisor, without what is secret.
func TestRequestsAreKept(t *testing.T) {
	path := dbPath(t)
	lib := login(t)
	b := journalled(t, path, "one", well, func(c *Config) { c.Skills, c.Keeps = lib, true })
	other := journalled(t, path, "two", hang, keeping)
	files := fstest.MapFS{"a.txt": {Data: []byte("a")}, "b/c.txt": {Data: []byte("c")}}
	thirty := 30
	for name, tt := range map[string]struct {
		req  *a2e.CallRequest
		want control.Request
	}{
		"plain": {&a2e.CallRequest{Name: "login", Arguments: map[string]any{"user": "ann"}, Timeout: &thirty}, control.Request{
			Args: json.RawMessage(`{"user":"ann"}`), Timeout: 30 * time.Second, Files: 2, Missing: "of its input files, 2, none is kept"}},
		"secret": {&a2e.CallRequest{Name: "login", Arguments: map[string]any{"user": "ann", "password": "hunter2",
			"hosts": []any{map[string]any{"key": "hunter2", "name": "x"}}}}, control.Request{
			Args: json.RawMessage(`{"hosts":[{"name":"x"}],"user":"ann"}`), Files: 2, Missing: "secret arguments are not kept: key, password; of its input files, 2, none is kept"}},
		"opaque": {&a2e.CallRequest{Name: "opaque", Arguments: map[string]any{"token": "hunter2"}}, control.Request{
			Files: 2, Missing: "its arguments are not kept: the skill's input_schema has secrets where no property names them; of its input files, 2, none is kept"}},
		"unknown": {&a2e.CallRequest{Name: "no-such-skill", Arguments: map[string]any{"token": "hunter2"}}, control.Request{
			Files: 2, Missing: "its arguments are not kept: nobody knows which are secret, since no skill was found for them; of its input files, 2, none is kept"}},
		"large": {&a2e.CallRequest{Name: "login", Arguments: map[string]any{"user": strings.Repeat("x", mostArgs)}}, control.Request{
			Files: 2, Missing: "its arguments are not kept: they are longer than 64 KiB; of its input files, 2, none is kept"}},
		"invalid": {&a2e.CallRequest{Name: "login", Arguments: map[string]any{"user": json.Number("5")}}, control.Request{
			Args: json.RawMessage(`{"user":5}`), Files: 2, Missing: "of its input files, 2, none is kept"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.req.ID = name
			answer := b.Run(t.Context(), a2e.Caller{Door: "test", Principal: "ann"}, tt.req, files, a2e.EventWriterFunc(func(context.Context, *a2e.Event) error { return nil }))
			for _, s := range []*Supervisor{b.Supervisor, other.Supervisor} {
				if got := requestOf(t, s, control.Only("ann"), answer.ID); !cmp.Equal(*got, tt.want) {
					t.Error(cmp.Diff(tt.want, *got))
				}
				if _, err := s.Request(t.Context(), control.Only("bob"), answer.ID); !errors.Is(err, control.ErrNotFound) {
					t.Errorf("for somebody else: %v", err)
				}
			}
		})
	}
	b.settle(t)
	for _, name := range []string{path, path + "-wal"} {
		if raw, err := os.ReadFile(name); err == nil && strings.Contains(string(raw), "hunter2") {
			t.Errorf("%s has a secret", name)
		}
	}
}

// A call that runs tells what it was asked, too; and where nothing is kept, why.
func TestRequestsOfRunningCalls(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		b := setUp(t, hang, func(c *Config) { c.Keeps = keeps })
		ctx, cancel := context.WithCancel(t.Context())
		answered := make(chan struct{})
		request := sent("patient", "r1")
		request.Arguments = map[string]any{"x": "y"}
		go func() { defer close(answered); b.ask(ctx, request) }()
		testutil.Poll(t, 30*time.Second, func() bool { _, err := b.Request(t.Context(), control.Whose{}, "r1"); return err == nil })
		want := control.Request{Missing: "what calls are asked is not kept here: store.keep.requests says so"}
		if keeps {
			want = control.Request{Args: json.RawMessage(`{"x":"y"}`)}
		}
		if got := requestOf(t, b.Supervisor, control.Whose{}, "r1"); !cmp.Equal(*got, want) {
			t.Error(cmp.Diff(want, *got))
		}
		cancel()
		<-answered
	}
}

// The policy of a call is known while it runs and afterwards, to this supervisor and to the next, and to who may see the call.
func TestPoliciesOfCalls(t *testing.T) {
	path := dbPath(t)
	b := journalled(t, path, "one", well, func(c *Config) { c.Plugins = []a2e.Plugin{guest{"greet": gives("hello")}} })
	other := journalled(t, path, "two", hang, nil)
	long := timed("free", 3600)
	for _, req := range []*a2e.CallRequest{long, sent("free", "r2"), sent("greet", "r3")} {
		answer := b.Call(t.Context(), a2e.Caller{Door: "test", Principal: "ann"}, req, a2e.EventWriterFunc(func(context.Context, *a2e.Event) error { return nil }))
		if verdict(answer) != "ok" {
			t.Fatalf("%s: %s", req.Name, verdict(answer))
		}
		for who, s := range map[string]*Supervisor{"here": b.Supervisor, "elsewhere": other.Supervisor} {
			got, err := s.Policy(t.Context(), control.Only("ann"), answer.ID)
			if err != nil || got == nil || len(got.Choices) < 8 || len(got.Digest) != 64 {
				t.Fatalf("%s, %s: %+v, %v", req.Name, who, got, err)
			}
			clamped := []control.Clamp{}
			if req == long {
				clamped = []control.Clamp{{Field: "timeout", By: "skill", Asker: "call", Asked: "3600s", Granted: "5s"}}
			}
			if !cmp.Equal(got.Clamps, clamped) {
				t.Errorf("%s, %s: %s", req.Name, who, cmp.Diff(clamped, got.Clamps))
			}
			if _, err := s.Policy(t.Context(), control.Only("bob"), answer.ID); !errors.Is(err, control.ErrNotFound) {
				t.Errorf("for somebody else: %v", err)
			}
		}
	}
	answer, _ := b.ask(t.Context(), sent("no-such-skill", "r4"))
	if got, err := b.Policy(t.Context(), control.Whose{}, answer.ID); got != nil || err != nil {
		t.Errorf("a call without a policy has %+v, %v", got, err)
	}

	c := setUp(t, hang, nil)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() { defer close(answered); c.ask(ctx, sent("patient", "r1")) }()
	testutil.Poll(t, 30*time.Second, func() bool {
		got, err := c.Policy(t.Context(), control.Whose{}, "r1")
		return err == nil && got != nil && len(got.Choices) >= 8
	})
	cancel()
	<-answered
}

// Wherever a schema says that something is secret, its name is known or nothing is kept.
func TestSecretNames(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a":{"type":"string"}}}`:                                                                       "",
		`{"properties":{"a":{"writeOnly":true}}}`:                                                                      "a",
		`{"properties":{"a":{"wr\u0069teOnly":true}}}`:                                                                 "a",
		`{"properties":{"properties":{"writeOnly":true}}}`:                                                             "properties",
		`{"properties":{"$defs":{"format":"password"}}}`:                                                               "$defs",
		`{"anyOf":[{"properties":{"a":{"format":"password"}}}]}`:                                                       "a",
		`{"properties":{"a":{"items":{"writeOnly":true}}}}`:                                                            "anywhere",
		`{"patternProperties":{"properties":{"writeOnly":true}}}`:                                                      "anywhere",
		`{"properties":{"a":{"$ref":"#/$defs/properties"}},"$defs":{"properties":{"writeOnly":true}}}`:                 "anywhere",
		`{"properties":{"a":{"writeOnly":true},"b":{"$ref":"#/properties/a"}}}`:                                        "anywhere",
		`{"properties":{"a":{"writeOnly":true},"b":{"$ref":"#/propertie%73/a"}}}`:                                      "anywhere",
		`{"properties":{"a":{"$anchor":"x","writeOnly":true},"b":{"$dynamicRef":"#x"}}}`:                               "anywhere",
		`{"properties":{"a":{"writeOnly":true},"b":{"$ref":"#"},"c":{"$ref":"#/$defs/d"}},"$defs":{"d":{}}}`:           "a",
		`{"$defs":{"d":{"properties":{"k":{"writeOnly":true}}}},"properties":{"c":{"$ref":"#/$defs/d"}}}`:              "k",
		`{"properties":{"b":{"$ref":"#/$defs/d/properties/k"}},"$defs":{"d":{"properties":{"k":{"writeOnly":true}}}}}`: "anywhere",
	} {
		names, anywhere := secretNames(json.RawMessage(schema))
		if anywhere != (want == "anywhere") || !anywhere && (len(names) > 1 || want != "" && !names[want] || want == "" && len(names) > 0) {
			t.Errorf("%s: %v, anywhere: %t, want %q", schema, names, anywhere, want)
		}
	}
}
