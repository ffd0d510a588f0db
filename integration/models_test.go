package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/broker"
	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// The keys that must stay outside, and the token that no cell has.
const (
	openAIKey    = "sk-real-openai-0123456789abcdef"
	anthropicKey = "sk-real-anthropic-0123456789abcdef"
	callersKey   = "sk-callers-own-0123456789abcdef"
	foreignToken = "hc-0123456789abcdef0123456789abcdef"
)

// upstream answers as the two providers do, to those who show the right key.
type upstream struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // path and what is wrong, "" for nothing
}

func newUpstream(t *testing.T) *upstream {
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(u.serve))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	wrong := ""
	switch key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key"); key {
	case "Bearer " + openAIKey, anthropicKey:
	case "Bearer " + callersKey:
		wrong = " with the caller's key"
	default:
		wrong = " without its key"
	}
	if strings.Contains(fmt.Sprint(r.Header, string(body)), "hc-") {
		wrong += " with a cell's token"
	}
	u.mu.Lock()
	u.seen = append(u.seen, r.URL.Path+wrong)
	u.mu.Unlock()
	var ask struct{ Stream bool }
	_ = json.Unmarshal(body, &ask)
	answer, events := openAIAnswer, openAIEvents
	if r.URL.Path == "/v1/messages" {
		answer, events = anthropicAnswer, anthropicEvents
	}
	if !ask.Stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, ev := range events {
		_, _ = io.WriteString(w, ev+"\n\n")
		_ = http.NewResponseController(w).Flush()
	}
}

const (
	openAIAnswer    = `{"id":"c","object":"chat.completion","created":1,"model":"small","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`
	anthropicAnswer = `{"id":"m","type":"message","role":"assistant","model":"small","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}`
)

var openAIEvents = []string{
	`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"small","choices":[{"index":0,"delta":{"role":"assistant","content":"hel"}}]}`,
	`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"small","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}`,
	`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"small","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`,
	`data: [DONE]`,
}

var anthropicEvents = []string{
	"event: message_start\ndata: " + `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"small","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`,
	"event: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
	"event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hel"}}`,
	"event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}`,
	"event: content_block_stop\ndata: " + `{"type":"content_block_stop","index":0}`,
	"event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`,
	"event: message_stop\ndata: " + `{"type":"message_stop"}`,
}

// models is a broker in front of an upstream, with both kinds of providers.
func models(t *testing.T, u *upstream) service.Service {
	t.Helper()
	keys := map[string]string{"OPENAI": openAIKey, "ANTHROPIC": anthropicKey}
	b, err := broker.New(broker.Options{
		Providers: []llm.Provider{
			{Name: "openai", Kind: llm.OpenAI, BaseURL: u.URL + "/v1", Credential: "env:OPENAI", Models: []string{"small"}, Model: "small"},
			{Name: "anthropic", Kind: llm.Anthropic, BaseURL: u.URL, Credential: "env:ANTHROPIC", Models: []string{"small"}, Model: "small"},
		},
		Credentials: credentials.Resolver{Lookup: func(name string) (string, bool) { key, ok := keys[name]; return key, ok }},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// sdkSkill is the program with the clients as a skill, on the empty image.
func sdkSkill(t *testing.T, name, yaml string) fstest.MapFS {
	t.Helper()
	program, err := os.ReadFile(testutil.GoBuild(t, "github.com/hotcell/hotcell/integration/skills/sdk"))
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		name + "/SKILL.md":   {Data: []byte("---\nname: " + name + "\ndescription: uses a model\n---\n"), Mode: 0o644},
		name + "/skill.yaml": {Data: []byte("run: {image: '" + images.Builtin + "', command: [./sdk]}\n" + yaml), Mode: 0o644},
		name + "/sdk":        {Data: program, Mode: 0o755},
	}
}

func sdkCall(skill string, arguments map[string]any) *a2e.CallRequest {
	r := request(skill, 60)
	r.Arguments = arguments
	return r
}

// everywhere runs a test with each way of making cells.
func everywhere(t *testing.T, opts rig.Options, f func(t *testing.T, r *rig.Rig)) {
	for name, need := range map[string]string{"docker": "docker", "runsc": "runsc", "oci": "runc"} {
		t.Run(name, func(t *testing.T) {
			testutil.Require(t, need)
			opts := opts
			switch name {
			case "runsc":
				opts.Runtime = "runsc"
			case "oci":
				t.Setenv(rig.EnvDriver, "oci")
			}
			f(t, newRig(t, opts))
		})
	}
}

// The official clients work unmodified in a cell without a network; the key stays outside.
func TestOfficialClientsInACell(t *testing.T) {
	u := newUpstream(t)
	b := models(t, u)
	opts := rig.Options{
		Skills: rig.Merge(sdkSkill(t, "ask-openai", "llm: {provider: openai}\n"), sdkSkill(t, "ask-anthropic", "llm: {provider: anthropic}\n")),
		Adjust: func(c *executor.Config) { c.Services, c.Models = []service.Service{b}, true },
	}
	everywhere(t, opts, func(t *testing.T, r *rig.Rig) {
		for _, client := range []string{"openai", "anthropic"} {
			got := ask(t.Context(), r, sdkCall("ask-"+client, map[string]any{"client": client, "model": "small"}), nil)
			if got.answer.Error != nil {
				t.Errorf("%s: %v", client, got.answer.Error)
				continue
			}
			want := map[string]any{"chat": "hello", "stream": []any{"hel", "lo"}, "interfaces": []any{"lo"}}
			if d := cmp.Diff(want, got.data(t)); d != "" {
				t.Errorf("%s (-want +got):\n%s", client, d)
			}
		}
	})
	u.mu.Lock()
	defer u.mu.Unlock()
	paths := map[string]bool{}
	for _, path := range u.seen {
		paths[path] = true
	}
	if want := map[string]bool{"/v1/chat/completions": true, "/v1/messages": true}; !maps.Equal(paths, want) {
		t.Errorf("the upstream saw %v", u.seen)
	}
}

// What is not this call's is refused, with a reason.
func TestWhatACallWasNotGranted(t *testing.T) {
	u := newUpstream(t)
	b := models(t, u)
	const chat = `{"model":"small","messages":[]}`
	tries := []any{
		map[string]any{"method": "POST", "url": "$OPENAI_BASE_URL/chat/completions", "token": foreignToken, "body": chat},
		map[string]any{"method": "POST", "url": "$OPENAI_BASE_URL/chat/completions", "token": "$HOTCELL_TOKEN", "body": `{"model":"large","messages":[]}`},
		map[string]any{"method": "POST", "url": "$OPENAI_BASE_URL/files", "token": "$HOTCELL_TOKEN", "body": "{}"},
		map[string]any{"method": "POST", "url": "http://127.0.0.1:41002/v1/messages", "token": "$HOTCELL_TOKEN", "body": chat},
		map[string]any{"method": "POST", "url": u.URL + "/v1/chat/completions", "token": openAIKey, "body": chat},
		map[string]any{"method": "POST", "url": "$OPENAI_BASE_URL/chat/completions", "token": "$HOTCELL_TOKEN", "body": chat},
	}
	opts := rig.Options{
		Skills: rig.Merge(sdkSkill(t, "prober", "llm: {provider: openai}\n"), sdkSkill(t, "nobody", "")),
		Adjust: func(c *executor.Config) { c.Services, c.Models = []service.Service{b}, true },
	}
	r := newRig(t, opts)
	got := ask(t.Context(), r, sdkCall("prober", map[string]any{"tries": tries}), nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	said, _ := got.data(t).(map[string]any)
	answers, _ := said["tries"].([]any)
	want := []string{`403 {"error":{"code":"token"`, `403 {"error":{"code":"model"`, `403 {"error":{"code":"endpoint"`, "refused", "refused", "200 {"}
	if len(answers) != len(want) {
		t.Fatalf("answers %v", answers)
	}
	for i, part := range want {
		if !strings.Contains(fmt.Sprint(answers[i]), part) {
			t.Errorf("try %d: %v, want %s", i, answers[i], part)
		}
	}
	got = ask(t.Context(), r, sdkCall("nobody", map[string]any{"client": "openai", "model": "small"}), nil)
	said, _ = got.data(t).(map[string]any)
	if got.answer.Error != nil || said["error"] == "" || said["chat"] != nil {
		t.Errorf("a skill without a model: %v, %v", got.answer.Error, said)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.seen) != 1 {
		t.Errorf("the upstream saw %v", u.seen)
	}
	for _, text := range []string{fmt.Sprint(got.answer), fmt.Sprint(answers)} {
		if strings.Contains(text, openAIKey) {
			t.Errorf("the key came in: %s", text)
		}
	}
}

// A caller's own key serves that call alone, at an approved provider; nobody else's is one.
func TestACallersOwnKey(t *testing.T) {
	u := newUpstream(t)
	b := models(t, u)
	r := newRig(t, rig.Options{
		Skills: sdkSkill(t, "asker", "llm: {provider: openai}\n"),
		Adjust: func(c *executor.Config) { c.Services, c.Models = []service.Service{b}, true },
		Warm:   warm.Options{Max: 1},
	})
	for _, provider := range []string{"openai", "", "another"} {
		q := sdkCall("asker", map[string]any{"client": "openai", "model": "small"})
		if provider != "" {
			q.LLMOverride = &a2e.LLMConfig{ProviderName: provider, ProviderCredentials: map[string]any{"api_key": callersKey}}
		}
		got := ask(t.Context(), r, q, nil)
		if refused := got.answer.Error != nil; refused != (provider == "another") || refused && got.answer.Error.Code != a2e.Unauthorized {
			t.Errorf("provider %q: %v", provider, got.answer.Error)
		}
		if strings.Contains(fmt.Sprintf("%+v %v", got.answer, got.events), callersKey) {
			t.Errorf("provider %q: the key came back", provider)
		}
	}
	const path = "/v1/chat/completions"
	u.mu.Lock()
	defer u.mu.Unlock()
	if d := cmp.Diff([]string{path + " with the caller's key", path + " with the caller's key", path, path}, u.seen); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
