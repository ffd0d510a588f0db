package integration

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/broker"
	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/internal/egress"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/telemetry"
	"github.com/hotcell/hotcell/internal/testutil/collector"
	"github.com/hotcell/hotcell/internal/tools"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// traced is a rig whose calls are traced, with a provider of models, tools, and a site that cells reach.
func traced(t *testing.T, c *collector.Collector, model, site string) (*rig.Rig, *telemetry.Telemetry) {
	t.Helper()
	tel, err := telemetry.Open(t.Context(), telemetry.Options{Endpoint: c.URL, Sample: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(modelKey), 0o600); err != nil {
		t.Fatal(err)
	}
	world := &elsewhere{server: site}
	models, err := broker.New(broker.Options{
		Providers:   []llm.Provider{{Name: "recital", Kind: "openai-compatible", BaseURL: model + "/v1", Credential: "file:" + key, Models: []string{"m"}}},
		Credentials: credentials.Resolver{}, Log: world,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(models.Close)
	box := tools.NewBox(tools.BoxOptions{})
	t.Cleanup(box.Close)
	lib, err := skills.LoadWith([]skills.Source{{Label: skills.SourceProject, FS: tracedSkills(), Path: "rig"}}, box, nil)
	if err != nil {
		t.Fatal(err)
	}
	var r *rig.Rig
	gate := tools.New(tools.Options{Box: box, Skills: lib, Log: world, Calls: func(ctx context.Context, who a2e.Caller, req *a2e.CallRequest) *a2e.CallResponse {
		return r.Call(ctx, who, req, nil)
	}})
	r = engineRig(t, rig.Options{Warm: warm.Options{Max: 1}, Adjust: func(cfg *executor.Config) {
		cfg.Skills, cfg.Models, cfg.Tracer = lib, true, tel.Tracer()
		cfg.Policy.Network.Allow = []string{"example.com:80"}
		cfg.Services = []service.Service{models, egress.New(egress.Options{Resolver: world, Dial: world.dial, Log: world}), gate}
	}})
	return r, tel
}

// tracedSkills are an agent skill that uses a tool and another skill, which goes out and says what it knows of the trace.
func tracedSkills() fstest.MapFS {
	return rig.Merge(fstest.MapFS{
		"boss/SKILL.md":   {Data: []byte("---\nname: boss\ndescription: a skill for tests\n---\nHave it done.\n"), Mode: 0o644},
		"boss/skill.yaml": {Data: []byte("tools: [calculator, 'skill:worker']\n"), Mode: 0o644},
	}, rig.PythonSkill("worker", "network: {allow: ['example.com:80']}\n", `
import json, os, urllib.request
urllib.request.urlopen("http://example.com/", timeout=20).read()
request = json.load(open(os.environ["HOTCELL_REQUEST"]))
print(json.dumps([os.environ.get("TRACEPARENT"), os.environ.get("TRACESTATE"), request["metadata"].get("traceparent")]))
`))
}

// One call of an agent skill, as a collector sees it: every phase is there with the right parent, in the caller's trace, down to
// what a skill does that the skill called; the phases of a call add up to it; and nothing that anybody said is in it.
func TestTraceOfAnAgentSkill(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "canary-body") }))
	t.Cleanup(site.Close)
	model := newRecital(t, uses("calculator", `{"expression":"40+2"}`), uses("skill_worker", `{"canary-argument":1}`), speaks("canary-result"))
	c := collector.New(t)
	r, tel := traced(t, c, model.URL, site.Listener.Addr().String())

	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	req := request("boss", 60)
	req.Metadata = map[string]any{"traceparent": parent, "tracestate": "vendor=1"}
	got := ask(t.Context(), r, req, nil)
	if got.answer.Error != nil || got.data(t) != "canary-result" {
		t.Fatalf("got %+v", got.answer)
	}
	spans := c.Await(t, func(spans []collector.Span) bool { return named(spans, "teardown") == 2 && named(spans, "call") == 2 })
	checkTree(t, spans, got.answer.ID)
	for _, s := range spans {
		if s.Trace != parent[3:35] || s.State != "vendor=1" || strings.Contains(fmt.Sprint(s), "canary") {
			t.Errorf("got %+v", s)
		}
	}
	if tel.Tracer() == nil {
		t.Error("there is no tracer")
	}
}

func named(spans []collector.Span, name string) (n int) {
	for _, s := range spans {
		if s.Name == name {
			n++
		}
	}
	return n
}

// checkTree compares the spans with what happened, each as the names of those around it.
func checkTree(t *testing.T, spans []collector.Span, call string) {
	t.Helper()
	byID := map[string]collector.Span{}
	for _, s := range spans {
		byID[s.ID] = s
	}
	paths := map[string]int{}
	for _, s := range spans {
		path := s.Name
		for at, ok := byID[s.Parent]; ok; at, ok = byID[at.Parent] {
			path = at.Name + "/" + path
		}
		paths[path]++
		if s.Name == "call" {
			checkSum(t, s, spans)
		}
		if _, ok := byID[s.Parent]; !ok && (s.Parent != "b7ad6b7169203331" || s.Attributes["hotcell.call.id"] != call) {
			t.Errorf("not the first span: %+v", s)
		}
	}
	want := map[string]int{"call": 1, "call/run/llm": 3, "call/run/tool": 2, "call/run/tool/call": 1, "call/run/tool/call/run/egress": 1}
	for _, around := range []string{"call/", "call/run/tool/call/"} {
		for _, phase := range []string{"plan", "queue", "prepare", "start", "run", "answer", "teardown"} {
			want[around+phase] = 1
		}
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// checkSum adds up the phases of a call.
func checkSum(t *testing.T, call collector.Span, spans []collector.Span) {
	t.Helper()
	var sum time.Duration
	for _, s := range spans {
		if s.Parent == call.ID && s.Name != "teardown" {
			sum += s.Took()
		}
	}
	if off := (call.Took() - sum).Abs(); off > call.Took()/20 {
		t.Errorf("the phases of %s add up to %s, the call took %s", call.Attributes["hotcell.skill"], sum, call.Took())
	}
	for key, want := range map[string]any{"hotcell.code": "ok", "hotcell.door": "test"} {
		if call.Attributes[key] != want {
			t.Errorf("%s: got %v, want %v", key, call.Attributes[key], want)
		}
	}
	if peak, _ := call.Attributes["hotcell.memory_peak_bytes"].(int64); peak == 0 && !rig.Engineless() && !underRunsc() {
		t.Errorf("no peak: %+v", call.Attributes)
	}
}

// A skill finds its place in the trace in its environment and in its request, in a cell of its own and in one that had waited:
// the phase that it runs in.
func TestTheTraceGoesIntoTheCell(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(site.Close)
	c := collector.New(t)
	r, _ := traced(t, c, "http://127.0.0.1:1", site.Listener.Addr().String())
	for i, warm := range []bool{false, true} {
		if warm {
			awaitWaiting(t, r, "worker")
		}
		got := ask(a2e.WithTrace(t.Context(), a2e.ParseTrace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor=1")), r, request("worker", 60), nil)
		if got.answer.Error != nil {
			t.Fatal(got.answer.Error)
		}
		said, _ := got.data(t).([]any)
		spans := c.Await(t, func(spans []collector.Span) bool { return named(spans, "call") == i+1 })
		for _, s := range spans {
			how := map[bool]string{false: "start", true: "lease"}[warm]
			if s.Name == "lease" && !warm || s.Name == how && s.Attributes["hotcell.warm"] != warm {
				t.Errorf("got %+v", s)
			}
		}
		run := ""
		for _, s := range spans {
			if s.Name == "run" {
				run = "00-" + s.Trace + "-" + s.ID + "-01"
			}
		}
		if len(said) != 3 || said[0] != run || said[1] != "vendor=1" || said[2] != run {
			t.Errorf("it was told %v, and runs in %s", said, run)
		}
	}
}
