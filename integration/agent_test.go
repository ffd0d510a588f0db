package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/broker"
	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/skills/bundled"
	"github.com/hotcell/hotcell/internal/tools"
)

const modelKey = "sk-integration-0f9e8d7c6b5a"

// recital is a provider of models that answers from a script: the turns of an answer, each the data of its chunks.
type recital struct {
	*httptest.Server
	mu    sync.Mutex
	turns [][]string
	seen  []string // the bodies of the requests
	keys  []string
}

func newRecital(t *testing.T, turns ...[]string) *recital {
	t.Helper()
	r := &recital{turns: turns}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *recital) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body json.RawMessage
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.seen), len(r.turns)-1)
	r.seen, r.keys = append(r.seen, string(body)), append(r.keys, req.Header.Get("Authorization"))
	w.Header().Set("Content-Type", "text/event-stream")
	if req.URL.Path == "/v1/messages" {
		r.keys[len(r.keys)-1] = "Bearer " + req.Header.Get("X-Api-Key")
		_, _ = io.WriteString(w, claude)
		return
	}
	for _, data := range r.turns[n] {
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// claude is an answer of Anthropic's: the word "Bonjour" in two pieces.
const claude = `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"c","content":[],"stop_reason":null,"usage":{"input_tokens":5,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Bon"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"jour"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`

func chunk(delta, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

func speaks(text string) []string {
	half := len(text) / 2
	first, _ := json.Marshal(text[:half])
	second, _ := json.Marshal(text[half:])
	return []string{
		chunk(`{"role":"assistant","content":`+string(first)+`}`, "null"), chunk(`{"content":`+string(second)+`}`, "stop"),
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`,
	}
}

func uses(tool, arguments string) []string {
	quoted, _ := json.Marshal(arguments)
	return []string{chunk(`{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"`+tool+`","arguments":`+string(quoted)+`}}]}`, "tool_calls")}
}

// kept is an audit log in memory.
type kept struct {
	mu      sync.Mutex
	entries []audit.Entry
}

func (k *kept) Write(e audit.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.entries = append(k.entries, e)
}

// modelRig is a rig with the engine, one provider of models, and the host's own tools.
func modelRig(t *testing.T, base string, log audit.Log) *rig.Rig {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(modelKey), 0o600); err != nil {
		t.Fatal(err)
	}
	models, err := broker.New(broker.Options{
		Providers: []llm.Provider{
			{Name: "recital", Kind: "openai-compatible", BaseURL: base + "/v1", Credential: "file:" + key, Models: []string{"m"}},
			{Name: "claude", Kind: "anthropic", BaseURL: base, Credential: "file:" + key, Models: []string{"c"}},
		},
		Credentials: credentials.Resolver{}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(models.Close)
	box := tools.NewBox(tools.BoxOptions{})
	t.Cleanup(box.Close)
	library, err := skills.LoadWith([]skills.Source{
		{Label: skills.SourceProject, FS: fstest.MapFS{
			"greet/SKILL.md":   {Data: []byte("---\nname: greet\ndescription: a skill for tests\n---\nGreet in French.\n"), Mode: 0o644},
			"greet/skill.yaml": {Data: []byte("llm: {provider: claude}\n"), Mode: 0o644},
		}, Path: "test"},
		{Label: skills.SourceCore, FS: bundled.FS(), Path: "bundled"},
	}, box, nil)
	if err != nil {
		t.Fatal(err)
	}
	return engineRig(t, rig.Options{Adjust: func(c *executor.Config) {
		c.Skills, c.Models, c.Audit = library, true, log
		c.Services = []service.Service{models, tools.New(tools.Options{Box: box, Skills: library, Log: log})}
	}})
}

// A skill of instructions, a model behind the broker, and two tools: three turns in a cell without a network. What happened is
// in the audit, and the key is nowhere but at the provider.
func TestAgent(t *testing.T) {
	model := newRecital(t, uses("time", `{"zone":"Europe/Berlin"}`), uses("calculator", `{"expression":"2 ** 10 - 1"}`),
		speaks(`{"answer":"It is 1023.","value":1023}`))
	log := &kept{}
	r := modelRig(t, model.URL, log)
	t.Run("three turns", func(t *testing.T) { checkTurns(t, r, model, log) })
	t.Run("another provider", func(t *testing.T) {
		got := ask(t.Context(), r, request("greet", 60), nil)
		if got.answer.Error != nil || got.data(t) != "Bonjour" {
			t.Errorf("got %+v", got.answer)
		}
		if last := model.seen[len(model.seen)-1]; !strings.Contains(last, "Greet in French.") || model.keys[len(model.keys)-1] != "Bearer "+modelKey {
			t.Errorf("it was asked %s", last)
		}
	})
	t.Run("too many turns", func(t *testing.T) {
		model.turns, model.seen = [][]string{uses("time", `{}`)}, nil
		e := ask(t.Context(), r, question(), nil).answer.Error
		if e == nil || e.Code != a2e.SkillError || e.Detail["skill_code"] != "max_turns_exceeded" || len(model.seen) != 8 {
			t.Errorf("after %d requests: %+v", len(model.seen), e)
		}
	})
	t.Run("no provider", func(t *testing.T) {
		model.Close()
		if e := ask(t.Context(), r, question(), nil).answer.Error; e == nil || e.Code != a2e.SkillError || !e.Retryable {
			t.Errorf("got %+v", e)
		}
	})
}

func question() *a2e.CallRequest {
	req := request("time-arithmetic", 60)
	req.Arguments = map[string]any{"question": "How much is it?"}
	return req
}

func checkTurns(t *testing.T, r *rig.Rig, model *recital, log *kept) {
	t.Helper()
	req := question()
	got := ask(t.Context(), r, req, nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	if diff := cmp.Diff(map[string]any{"answer": "It is 1023.", "value": float64(1023)}, got.data(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if k := got.kinds(); k[a2e.KindProgress] != 3 || k[a2e.KindStatus] < 3 || k[a2e.KindLog] != 3 {
		t.Errorf("events: %v", k)
	}
	for i, part := range []string{"Answer the question in the argument", `\"local\":`, `\"result\":\"1023\"`} {
		if !strings.Contains(model.seen[i], part) {
			t.Errorf("request %d lacks %s: %.1000s", i, part, model.seen[i])
		}
		if model.keys[i] != "Bearer "+modelKey {
			t.Errorf("request %d came with %q", i, model.keys[i])
		}
	}
	checkAudit(t, log, map[string]int{"llm.request": 3, "tool.call": 2, "agent.turn": 3})
	if told, err := json.Marshal([]any{got.events, got.answer}); err != nil || strings.Contains(string(told), modelKey) {
		t.Errorf("the key is in what the caller got (%v)", err)
	}
}

func checkAudit(t *testing.T, log *kept, want map[string]int) {
	t.Helper()
	log.mu.Lock()
	defer log.mu.Unlock()
	kinds := map[string]int{}
	for _, e := range log.entries {
		kinds[e.Kind]++
		if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), modelKey) {
			t.Errorf("the key is in the audit (%v)", err)
		}
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}
