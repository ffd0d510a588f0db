package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hotcell/hotcell/internal/engine"
	"github.com/hotcell/hotcell/internal/wall"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const skillMD = "---\nname: demo\ndescription: x\n---\n# Demo\n\nBe brief.\n"

var kinds = []string{"openai", "openai-compatible", "anthropic"}

// said is what the engine wrote.
type said struct {
	ok     bool
	events []string // "progress 0 turn 1 ...", "status ...", "log debug ..."
	text   string   // of all deltas
	result wall.Result
}

// rig is a cell's folder, a provider and a tool gate.
type rig struct {
	root  string
	lease wall.Lease
	env   []string
	calls []string // of tools, as the gate saw them
}

func newRig(t *testing.T, p *provider) *rig {
	t.Helper()
	r := &rig{root: t.TempDir(), env: p.env()}
	r.lease.Model = &wall.Model{Provider: p.kind, Kind: p.kind, Model: "m-1"}
	r.write(t, "/skill/SKILL.md", skillMD)
	return r
}

func (r *rig) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(r.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// gate serves tools: each answers with what it got, "bad" fails.
func (r *rig) gate(t *testing.T, names ...string) {
	t.Helper()
	seen := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		seen <- strings.TrimPrefix(req.URL.Path, "/v1/tools/") + " " + string(body)
		if strings.HasSuffix(req.URL.Path, "/bad") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"success":false,"error":"not for a read-only skill","code":"permission_denied"}`)
			return
		}
		fmt.Fprintf(w, `{"success":true,"data":{"got":%s}}`, body)
	}))
	t.Cleanup(func() {
		server.Close()
		close(seen)
		for c := range seen {
			r.calls = append(r.calls, c)
		}
	})
	for _, name := range names {
		r.lease.Tools = append(r.lease.Tools, wall.ToolDef{Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
	}
	r.env = append(r.env, wall.EnvTools+"="+server.URL, wall.EnvToken+"=hc-token")
}

func (r *rig) run(ctx context.Context, t *testing.T) said {
	t.Helper()
	lease, err := json.Marshal(r.lease)
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, wall.LeasePath, string(lease))
	var out bytes.Buffer
	s := said{}
	s.ok = Run(ctx, engine.Config{
		Stdin:  strings.NewReader(`{"type":"skill/call/req","name":"demo","arguments":{"a":1.50}}` + "\n"),
		Stdout: &out, Env: r.env, Root: r.root,
	})
	for line := range strings.Lines(out.String()) {
		s.read(t, line)
	}
	return s
}

func (s *said) read(t *testing.T, line string) {
	t.Helper()
	if wall.TypeOf([]byte(line)) == wall.TypeResult {
		r, err := wall.DecodeResult([]byte(line))
		if err != nil || s.result.Type != "" {
			t.Errorf("a result too many, or a bad one: %s (%v)", line, err)
		}
		s.result = r
		return
	}
	e, err := wall.DecodeEvent([]byte(strings.TrimSuffix(line, "\n")))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	var d map[string]any
	if err := json.Unmarshal(e.Data, &d); err != nil {
		t.Fatal(err)
	}
	if text, ok := d["delta"].(string); ok {
		s.text += text
		return
	}
	lead := e.Kind
	if e.Kind == "progress" {
		lead += fmt.Sprint(" ", d["pct"])
	}
	s.events = append(s.events, fmt.Sprintf("%s %v", lead, d["message"]))
}

// Three turns with two tools, for each kind of provider: what the model hears, and what the skill says meanwhile.
func TestThreeTurns(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			p := newProvider(t, kind,
				turn{text: "Let me see.", calls: []call{{"clock", `{"n":1}`}}},
				turn{calls: []call{{"sum", `{"n":2}`}, {"bad", `{"n":3}`}}},
				turn{text: "It is  done.\nReally."},
			)
			r := newRig(t, p)
			r.gate(t, "clock", "sum", "bad")
			r.lease.MaxTurns = 4
			s := r.run(t.Context(), t)
			if !s.ok || string(s.result.Data) != `"It is  done.\nReally."` || string(s.result.Summary) != `"It is done."` {
				t.Fatalf("got %+v", s.result)
			}
			if s.text != "Let me see.It is  done.\nReally." {
				t.Errorf("streamed %q", s.text)
			}
			want := []string{
				"progress 0 turn 1 of at most 4", "status uses the tool clock",
				`log debug`, "progress 25 turn 2 of at most 4", "status uses the tool sum", "status uses the tool bad", `log debug`,
				"progress 50 turn 3 of at most 4", `log debug`,
			}
			got := slices.Clone(s.events)
			for i := range got {
				if strings.HasPrefix(got[i], "log turn {") {
					got[i] = "log debug"
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			log := strings.Join(s.events, "\n")
			for _, part := range []string{`"tool":"clock","arguments":"{\"n\":1}","answer":"{\"got\":{\"n\":1}}"`, `"answer":"{\"code\":\"permission_denied\",\"error\":\"not for a read-only skill\"}","failed":true`} {
				if !strings.Contains(log, part) {
					t.Errorf("the log lacks %s:\n%s", part, log)
				}
			}
			for n, parts := range [][]string{
				{"Be brief.", `Arguments: {\"a\":1.50}`, "does clock", `"m-1"`}, {"Let me see.", `{\"got\":{\"n\":1}}`}, {`{\"got\":{\"n\":2}}`, "not for a read-only skill"},
			} {
				heard := p.heard(n)
				for _, part := range parts {
					if !strings.Contains(heard, part) {
						t.Errorf("request %d lacks %s:\n%s", n, part, heard)
					}
				}
				if strings.Contains(heard, "description: x") {
					t.Errorf("request %d has the frontmatter", n)
				}
			}
			if auth := p.headers[0].Get("Authorization") + p.headers[0].Get("X-Api-Key"); !strings.Contains(auth, "hc-token") {
				t.Errorf("authorised by %q", auth)
			}
		})
	}
}

// How runs end that don't end well, and which of them may be tried again.
func TestFailures(t *testing.T) {
	use := turn{calls: []call{{"clock", `{}`}}}
	for name, tt := range map[string]struct {
		turns     []turn
		openai    string // what differs between the kinds: the words of their own
		err, code string
		final     bool
	}{
		"too many turns": {[]turn{use, use, use, use}, "", "the model still wanted to use tools after 3 turns: raise max_turns, or ask for less", "max_turns_exceeded", true},
		"nothing":        {[]turn{{}}, "", "the model said nothing", "empty_answer", false},
		"cut":            {[]turn{{stop: "length"}}, "", "the model said nothing before it reached the most tokens that it may say: raise max_tokens in its settings, or ask for less", "empty_answer", false},
		"declined":       {[]turn{{text: "Sorry.", stop: "refusal"}}, "the model declined: I would rather not.", "the model declined: Sorry.", "model_refused", true},
		"401":            {[]turn{{status: 401, body: `{"error":{"message":"bad key"}}`}}, "", "the model's provider answered Unauthorized: bad key", "model_unauthorized", true},
		"budget":         {[]turn{{status: 403, body: `{"error":{"message":"the call's tokens are used up","code":"budget_exceeded"}}`}}, "", "the model's provider answered Forbidden: the call's tokens are used up", "budget_exceeded", true},
		"hotcell's no":   {[]turn{{status: 403, body: `{"error":{"message":"hotcell: the call has 0 of 5 tokens left","code":"tokens"}}`}}, "", "the request to the model was refused by hotcell: the call has 0 of 5 tokens left", "tokens", true},
		"out of reach":   {[]turn{{status: 502, body: `{"error":{"message":"hotcell: provider p cannot be reached","code":"provider"}}`}}, "", "the request to the model failed: provider p cannot be reached", "provider_error", false},
		"403":            {[]turn{{status: 403, body: `{"error":{"message":"no"}}`}}, "", "the model's provider answered Forbidden: no", "model_forbidden", true},
		"404":            {[]turn{{status: 404, body: `{"error":{"message":"no such model"}}`}}, "", "the model's provider answered Not Found: no such model", "model_not_found", true},
		"400":            {[]turn{{status: 400, body: `{"error":{"message":"too\nlong"}}`}}, "", "the model's provider answered Bad Request: too long", "model_rejected", true},
		"429":            {[]turn{{status: 429, body: `{"error":{"message":"slow down"}}`}}, "", "the model's provider answered Too Many Requests: slow down", "rate_limited", false},
		"500":            {[]turn{{status: 503, body: ``}}, "", "the model's provider answered Service Unavailable", "provider_error", false},
		"in the stream":  {[]turn{{text: "abc", broken: `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`}}, "", "the model's provider broke the answer off: busy", "provider_error", false},
		"cut off":        {[]turn{{text: "abc", broken: "cut"}}, "", "the model's answer: the answer ended before it was complete", "model_unreachable", false},
	} {
		for _, kind := range kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				r := newRig(t, newProvider(t, kind, tt.turns...))
				r.gate(t, "clock")
				r.lease.MaxTurns = 3
				s := r.run(t.Context(), t)
				want := tt.err
				if kind != "anthropic" && tt.openai != "" {
					want = tt.openai
				}
				final := s.result.Retryable != nil && !*s.result.Retryable
				if s.ok || s.result.Error != want || s.result.ErrorCode != tt.code || final != tt.final {
					t.Errorf("got %q (%s, final %v)\nwant %q (%s, final %v)", s.result.Error, s.result.ErrorCode, final, want, tt.code, tt.final)
				}
			})
		}
	}
}

// Without what it needs the engine says so before it asks anybody.
func TestNotReady(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil     func(*testing.T, *rig)
		err, code string
	}{
		"no model":     {func(_ *testing.T, r *rig) { r.lease.Model = nil }, "this skill needs a model, and the call was granted none", "no_model"},
		"no address":   {func(_ *testing.T, r *rig) { r.env = nil }, "the environment has no OPENAI_BASE_URL", "no_model"},
		"unknown kind": {func(_ *testing.T, r *rig) { r.lease.Model.Kind = "other" }, `provider "openai" is of kind "other"`, "unsupported"},
		"bad schema":   {func(_ *testing.T, r *rig) { r.lease.OutputSchema = json.RawMessage(`{"type":7}`) }, "output_schema: ", "bad_skill"},
		"no SKILL.md":  {func(t *testing.T, r *rig) { _ = os.Remove(filepath.Join(r.root, "skill/SKILL.md")) }, "SKILL.md: /skill/SKILL.md: no such file", "bad_skill"},
		"bad settings": {func(_ *testing.T, r *rig) { r.lease.Model.Config = json.RawMessage(`[]`) }, "the model's settings are no JSON object", "bad_skill"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, "openai", turn{text: "hello"})
			r := newRig(t, p)
			tt.spoil(t, r)
			s := r.run(t.Context(), t)
			if s.ok || !strings.HasPrefix(s.result.Error, tt.err) || s.result.ErrorCode != tt.code || len(p.requests) != 0 {
				t.Errorf("got %q (%s) after %d requests", s.result.Error, s.result.ErrorCode, len(p.requests))
			}
		})
	}
}

// With output_schema the answer is JSON that fits it. It gets one chance to be mended, with its faults named.
func TestShape(t *testing.T) {
	const schema = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}},"additionalProperties":false}`
	for name, tt := range map[string]struct {
		turns []turn
		data  string
		err   string
		heard []string // in the second request
	}{
		"at once":         {[]turn{{text: ` {"n": 1} `}}, `{"n":1}`, "", nil},
		"between fences":  {[]turn{{text: "Here:\n```json\n{\"n\": 2}\n```\nDone."}}, `{"n":2}`, "", nil},
		"among words":     {[]turn{{text: `The answer is {"n": 3}, as asked.`}}, `{"n":3}`, "", nil},
		"mended":          {[]turn{{text: `{"n":"4","x":1}`}, {text: `{"n":4}`}}, `{"n":4}`, "", []string{"does not fit the JSON Schema", "$/n: got string, want integer", "additional properties 'x' not allowed"}},
		"no JSON, mended": {[]turn{{text: "five"}, {text: `{"n":5}`}}, `{"n":5}`, "", []string{"the answer is no JSON"}},
		"not mended":      {[]turn{{text: "six"}, {text: `{"n":"6"}`}, {text: `{"n":6}`}}, "", "the model's answer doesn't fit output_schema: $/n: got string, want integer", nil},
		"cut short":       {[]turn{{text: `{"n":`, stop: "length"}, {text: `{"n":7}`}}, `{"n":7}`, "", []string{"be shorter"}},
	} {
		for _, kind := range kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				p := newProvider(t, kind, tt.turns...)
				r := newRig(t, p)
				r.lease.OutputSchema = json.RawMessage(schema)
				s := r.run(t.Context(), t)
				var data bytes.Buffer
				_ = json.Compact(&data, s.result.Data)
				if data.String() != tt.data || s.result.Error != tt.err || s.ok != (tt.err == "") {
					t.Errorf("got %s, %q (%s)", data.String(), s.result.Error, s.result.ErrorCode)
				}
				if tt.err != "" && s.result.ErrorCode != codeOutput {
					t.Errorf("code %s", s.result.ErrorCode)
				}
				for _, part := range tt.heard {
					if heard := p.heard(1); !strings.Contains(heard, part) {
						t.Errorf("the second request lacks %s:\n%s", part, heard)
					}
				}
			})
		}
	}
}

// An answer that was cut is marked, and a tool that it asked for is not used: its arguments may be half.
func TestCutShort(t *testing.T) {
	for _, kind := range kinds {
		p := newProvider(t, kind, turn{calls: []call{{"clock", `{"n":1`}}, stop: "length"}, turn{text: "half an ans", stop: "length"})
		r := newRig(t, p)
		r.gate(t, "clock")
		s := r.run(t.Context(), t)
		if !s.ok || !s.result.Truncated || string(s.result.Data) != `"half an ans"` {
			t.Errorf("%s: got %+v", kind, s.result)
		}
		if heard := p.heard(1); !strings.Contains(heard, "not run: your message was cut") {
			t.Errorf("%s: it heard %s", kind, heard)
		}
	}
}

// Some who are compatible give each piece of a stream an id of its own and tools neither type nor id, and Anthropic refuses an empty text that it said
// itself.
func TestOddStreams(t *testing.T) {
	for _, kind := range kinds {
		p := newProvider(t, kind, turn{calls: []call{{"clock", `{"n":1}`}}, odd: true}, turn{text: "done", odd: true})
		r := newRig(t, p)
		r.gate(t, "clock")
		if s := r.run(t.Context(), t); !s.ok || string(s.result.Data) != `"done"` {
			t.Errorf("%s: got %+v", kind, s.result)
		}
		if heard := p.heard(1); strings.Contains(heard, `"text":""`) || strings.Contains(heard, "null") || !strings.Contains(heard, `"name":"clock"`) || !strings.Contains(heard, `{\"got\":{\"n\":1}}`) {
			t.Errorf("%s: it heard %s", kind, heard)
		}
	}
}

// A turn is written down whole, whatever it is about: as a text with many characters that JSON escapes, too.
func TestTheTranscriptIsJSON(t *testing.T) {
	calls := make([]call, 20)
	for i := range calls {
		calls[i] = call{"clock", `{"n":"` + strings.Repeat("<&>", 200) + `"}`}
	}
	p := newProvider(t, "openai", turn{text: strings.Repeat("<a>&\x01", 1000), calls: calls}, turn{text: "done"})
	r := newRig(t, p)
	r.gate(t, "clock")
	s := r.run(t.Context(), t)
	turns := 0
	for _, e := range s.events {
		if record, ok := strings.CutPrefix(e, "log turn "); ok {
			turns++
			if !json.Valid([]byte(record)) {
				t.Errorf("%d bytes that are no JSON: ...%s", len(record), record[len(record)-80:])
			}
		}
	}
	if turns != 2 {
		t.Errorf("%d turns are written down: %q", turns, s.events)
	}
}

// The model reads the bundle's files and the call's, in pieces, and nothing else.
func TestFiles(t *testing.T) {
	p := newProvider(t, "openai",
		turn{calls: []call{{"read_skill_file", `{"path":"docs/more.md"}`}, {"read_skill_file", `{"path":"../etc/passwd"}`}, {"read_input_file", `{"path":"in.csv","offset":2}`},
			{"read_skill_file", `{"path":"long.txt"}`}, {"read_skill_file", `{"path":"bytes.bin"}`}, {"read_skill_file", `{`}, {"nothing", `{}`}, {"skill_other", `{}`}}},
		turn{text: "read"},
	)
	r := newRig(t, p)
	r.write(t, "/skill/docs/more.md", "more about it")
	r.write(t, "/skill/skill.yaml", "hidden: true")
	r.write(t, "/skill/long.txt", strings.Repeat("é", maxRead))
	r.write(t, "/skill/bytes.bin", "\xff\xfe\x00")
	r.write(t, "/workspace/in/in.csv", "a,b")
	r.gate(t, "skill:other", "read_skill_file")
	s := r.run(t.Context(), t)
	if !s.ok {
		t.Fatalf("got %+v", s.result)
	}
	first, second := p.heard(0), p.heard(1)
	for _, part := range []string{"- docs/more.md (13 bytes)", "- in.csv (3 bytes)", `"read_skill_file_2"`, `"skill_other"`} {
		if !strings.Contains(first, part) {
			t.Errorf("the first request lacks %s:\n%.2000s", part, first)
		}
	}
	if strings.Contains(first, "- skill.yaml") || strings.Contains(first, "- SKILL.md") {
		t.Error("the first request lists what the engine reads itself")
	}
	for _, part := range []string{
		`"more about it"`, "../etc/passwd: not in /skill", `"b"`, fmt.Sprintf("[%d of %d bytes; go on with offset %d]", maxRead, 2*maxRead, maxRead),
		"bytes.bin is no text in UTF-8", "the arguments are no JSON", "there is no such tool", `{\"got\":{}}`,
	} {
		if !strings.Contains(second, part) {
			t.Errorf("the second request lacks %s:\n%.3000s", part, second)
		}
	}
}

// The model's settings reach the provider by the names that it knows; others are told of.
func TestSettings(t *testing.T) {
	for kind, want := range map[string]map[string]any{
		"openai":            {"temperature": 0.5, "max_completion_tokens": 7.0, "stop": "x"},
		"openai-compatible": {"temperature": 0.5, "max_tokens": 7.0, "stop": "x"},
		"anthropic":         {"temperature": 0.5, "max_tokens": 7.0, "stop_sequences": []any{"x"}},
	} {
		p := newProvider(t, kind, turn{text: "ok"})
		r := newRig(t, p)
		r.lease.Model.Config = json.RawMessage(`{"temperature":0.5,"max_tokens":7,"stop":"x","model":"other","stream":false,"logit_bias":{}}`)
		s := r.run(t.Context(), t)
		if !s.ok || p.requests[0]["model"] != "m-1" {
			t.Fatalf("%s: got %+v", kind, s.result)
		}
		for key, value := range want {
			if diff := cmp.Diff(value, p.requests[0][key]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", kind, key, diff)
			}
		}
		if !slices.ContainsFunc(s.events, func(e string) bool { return strings.Contains(e, "logit_bias") }) {
			t.Errorf("%s: nothing about logit_bias: %q", kind, s.events)
		}
	}
}

// A call that is cancelled ends at once, whatever the provider does.
func TestCancelled(t *testing.T) {
	for _, kind := range kinds {
		begun := make(chan struct{})
		slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			close(begun)
			<-r.Context().Done()
		}))
		r := newRig(t, &provider{Server: slow, kind: kind})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			cancel()
		}()
		if s := r.run(ctx, t); s.ok || s.result.ErrorCode != engine.CodeCancelled {
			t.Errorf("%s: got %+v", kind, s.result)
		}
		slow.Close()
	}
}
