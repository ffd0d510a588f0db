package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// turn is what the fake model says to one request.
type turn struct {
	text   string
	calls  []call
	stop   string // "" fits the rest: end or tools; "length", "refusal"
	status int    // with body: an error instead
	body   string
	broken string // an error in the middle of the stream, or "cut"
	odd    bool   // OpenAI: each piece has an id of its own, and tools neither type nor id; Anthropic: it begins with an empty text
}

type call struct{ name, arguments string }

// upstream is a model's provider with a script of answers.
type provider struct {
	*httptest.Server
	kind string

	mu       sync.Mutex
	turns    []turn
	requests []map[string]any
	headers  []http.Header
}

func newProvider(t *testing.T, kind string, turns ...turn) *provider {
	t.Helper()
	p := &provider{kind: kind, turns: turns}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) env() []string {
	if p.kind == "anthropic" {
		return []string{"ANTHROPIC_BASE_URL=" + p.URL, "ANTHROPIC_API_KEY=hc-token"}
	}
	return []string{"OPENAI_BASE_URL=" + p.URL + "/v1", "OPENAI_API_KEY=hc-token"}
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var req map[string]any
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	n := len(p.requests)
	p.requests, p.headers = append(p.requests, req), append(p.headers, r.Header)
	t := turn{status: 400, body: `{"error":{"message":"the script has no more turns"}}`}
	if n < len(p.turns) {
		t = p.turns[n]
	}
	p.mu.Unlock()
	if t.status != 0 {
		w.Header().Set("X-Should-Retry", "false")
		w.WriteHeader(t.status)
		_, _ = io.WriteString(w, t.body)
		return
	}
	want := "/v1/chat/completions"
	say := sayOpenAI
	if p.kind == "anthropic" {
		want, say = "/v1/messages", sayAnthropic
	}
	if r.URL.Path != want || req["stream"] != true {
		http.Error(w, "unexpected "+r.URL.Path, http.StatusTeapot)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say(w, t)
}

// pieces cuts a text in three, so that the answer streams.
func pieces(s string) []string {
	n := len(s) / 3
	return []string{s[:n], s[n : 2*n], s[2*n:]}
}

func sayOpenAI(w io.Writer, t turn) {
	id := "c"
	chunk := func(delta map[string]any, finish any) {
		if t.odd {
			id += "c"
		}
		b, _ := json.Marshal(map[string]any{"id": id, "object": "chat.completion.chunk", "model": "m", "created": 1,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	chunk(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, s := range pieces(t.text) {
		if s != "" {
			chunk(map[string]any{"content": s}, nil)
		}
	}
	for i, c := range t.calls {
		tool := map[string]any{"index": i, "id": fmt.Sprintf("call_%d", i), "type": "function", "function": map[string]any{"name": c.name, "arguments": ""}}
		if t.odd {
			delete(tool, "type")
			delete(tool, "id")
		}
		chunk(map[string]any{"tool_calls": []any{tool}}, nil)
		for _, s := range pieces(c.arguments) {
			chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": s}}}}, nil)
		}
	}
	switch {
	case t.broken == "cut":
		return
	case t.broken != "":
		fmt.Fprintf(w, "data: %s\n\n", t.broken)
		return
	}
	finish := "stop"
	switch {
	case t.stop == "length":
		finish = "length"
	case t.stop == "refusal":
		chunk(map[string]any{"refusal": "I would rather not."}, nil)
	case len(t.calls) > 0:
		finish = "tool_calls"
	}
	chunk(map[string]any{}, finish)
	fmt.Fprint(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}`+"\n\ndata: [DONE]\n\n")
}

func sayAnthropic(w io.Writer, t turn) {
	event := func(kind string, data map[string]any) {
		data["type"] = kind
		b, _ := json.Marshal(data)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
	}
	event("message_start", map[string]any{"message": map[string]any{"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "stop_reason": nil, "usage": map[string]any{"input_tokens": 5, "output_tokens": 1}}})
	index := 0
	block := func(start map[string]any, deltas []map[string]any) {
		event("content_block_start", map[string]any{"index": index, "content_block": start})
		for _, d := range deltas {
			event("content_block_delta", map[string]any{"index": index, "delta": d})
		}
		event("content_block_stop", map[string]any{"index": index})
		index++
	}
	if t.odd {
		block(map[string]any{"type": "text", "text": ""}, nil)
	}
	if t.text != "" {
		var deltas []map[string]any
		for _, s := range pieces(t.text) {
			deltas = append(deltas, map[string]any{"type": "text_delta", "text": s})
		}
		block(map[string]any{"type": "text", "text": ""}, deltas)
	}
	for i, c := range t.calls {
		var deltas []map[string]any
		for _, s := range pieces(c.arguments) {
			deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": s})
		}
		block(map[string]any{"type": "tool_use", "id": fmt.Sprintf("call_%d", i), "name": c.name, "input": map[string]any{}}, deltas)
	}
	switch {
	case t.broken == "cut":
		return
	case t.broken != "":
		fmt.Fprintf(w, "event: error\ndata: %s\n\n", t.broken)
		return
	}
	stop := "end_turn"
	switch {
	case t.stop == "length":
		stop = "max_tokens"
	case t.stop == "refusal":
		stop = "refusal"
	case len(t.calls) > 0:
		stop = "tool_use"
	}
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 7}})
	event("message_stop", map[string]any{})
}

// heard is what the model was sent in one request: role and text of each message, tools' answers too.
func (p *provider) heard(n int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n >= len(p.requests) {
		return fmt.Sprintf("only %d requests", len(p.requests))
	}
	b, _ := json.Marshal(p.requests[n])
	return strings.ReplaceAll(string(b), `\n`, " ")
}
