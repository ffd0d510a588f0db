package a2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/testutil"
)

func ptr[T any](v T) *T { return &v }

// header is a fixed one, so that golden lines stay the same.
func header(typ string) Header {
	return Header{Type: typ, ID: "m1", Version: Version, TS: 1716123456.789}
}

func goldenMessages() map[string]Message {
	full := Definition{
		Name: "code-review", Version: "1.0.0", Description: "Review <code> & more", Triggers: []string{"review code"},
		Tools: []any{"grep"}, Toolkits: []any{"fs"}, Status: StatusPublished,
		InputSchema: json.RawMessage(`{"type": "object", "properties": {"b": {}, "a": {}}}`), OutputSchema: json.RawMessage(`{}`),
		Instructions: ptr("Review."), FilePath: ptr("SKILL.md"), Arguments: []string{"code"}, WhenToUse: "w", ArgumentHint: "h",
		LLMConfig: &LLMConfig{
			ProviderName: "openai", ProviderCredentials: map[string]any{"api_key": "sk-secret"},
			ProviderConfig: map[string]any{"model": "m", "base_url": "https://secret.example"}, IsDefault: true,
		},
		Source: "system", Category: ptr("development"), Tags: []string{"coding"}, MaxTurns: ptr(10), TimeoutSeconds: ptr(120),
		Icon: ptr("i"), Metadata: map[string]any{"k": "v"},
	}
	failed := Failure("sc1", "code-review", Errorf(Timeout, "ran longer than %ds", 60).Because("deadline"), 60*time.Second)
	failed.Header, failed.CreatedAt = header(TypeCallResponse), 1716123458.5
	return map[string]Message{
		"discover-req":  &DiscoverRequest{Header: header(TypeDiscoverRequest)},
		"discover-resp": &DiscoverResponse{Header: header(TypeDiscoverResponse), ReqID: "sd1", Skills: []Definition{full, {Name: "bare"}}},
		"discover-none": &DiscoverResponse{Header: header(TypeDiscoverResponse), ReqID: "sd1"},
		"call-req":      &CallRequest{Header: header(TypeCallRequest), Name: "x"},
		"call-req-full": &CallRequest{
			Header: header(TypeCallRequest), Name: "x", Arguments: map[string]any{"n": json.Number("12345678901234567890")},
			CorrelationID: "c", Timeout: ptr(60), Streaming: ptr(false), LLMOverride: full.LLMConfig, Metadata: map[string]any{"k": 1},
		},
		"call-resp": &CallResponse{
			Header: header(TypeCallResponse), ReqID: "sc1", Name: "x", CreatedAt: 1716123458.5,
			Data: &Result{
				Success: true, Data: map[string]any{"issues": []any{}}, Summary: "ok", Truncated: true, DurationMS: 1400,
				Events: []Event{{Header: header(TypeEvent), Kind: KindStatus, ReqID: "sc1"}},
			},
		},
		"call-resp-failed": failed,
		"call-resp-null":   &CallResponse{Header: header(TypeCallResponse), ReqID: "sc1", Name: "x", CreatedAt: 1},
		"event":            &Event{Header: header(TypeEvent), Kind: KindProgress, ReqID: "sc1", Data: map[string]any{"pct": 30, "message": "m"}},
		"handshake-req":    &HandshakeRequest{Header: header(TypeHandshakeRequest), AgentID: "a"},
		"handshake-resp": &HandshakeResponse{
			Header: header(TypeHandshakeResponse), ReqID: "h1", SessionID: "s", MaxParallel: 4, OK: true,
			AcceptedCaps: []Capability{{Capability: "skill", Enabled: true}},
		},
		"handshake-none": &HandshakeResponse{Header: header(TypeHandshakeResponse), ReqID: "h1"},
		"ping":           &Ping{Header: header(TypePing)},
		"pong":           &Pong{Header: header(TypePong), ReqID: "p1", UptimeSeconds: 1.5},
		"shutdown":       &Shutdown{Header: header(TypeShutdown), Timeout: 10},
		"error": func() Message {
			m := ErrorReport("", Errorf(ParseError, "bad <line>"))
			m.Header = header(TypeError)
			return m
		}(),
	}
}

func TestGoldenMessages(t *testing.T) {
	for name, m := range goldenMessages() {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := NewEncoder(&out).Encode(m); err != nil {
				t.Fatal(err)
			}
			testutil.Golden(t, "testdata/"+name+".golden", out.Bytes())
			if strings.Contains(out.String(), "secret") {
				t.Errorf("a secret went out: %s", out.Bytes())
			}
			back, err := Parse(bytes.TrimSpace(out.Bytes()))
			if err != nil {
				t.Fatalf("our own line does not parse: %v", err)
			}
			var again bytes.Buffer
			if err := NewEncoder(&again).Encode(back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(out.String(), again.String()); diff != "" {
				t.Errorf("second encoding differs (-first +second):\n%s", diff)
			}
		})
	}
}

func TestEncoderFillsHeadersOfACopy(t *testing.T) {
	var out bytes.Buffer
	answer := &CallResponse{ReqID: "r"}
	if err := NewEncoder(&out).Encode(answer); err != nil {
		t.Fatal(err)
	}
	if answer.ID != "" || answer.Type != "" {
		t.Errorf("the message itself was changed: %+v", answer.Header)
	}
	m, err := Parse(bytes.TrimSpace(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	got := m.(*CallResponse)
	uuid4 := regexp.MustCompile(`^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$`)
	if got.Type != TypeCallResponse || !uuid4.MatchString(got.ID) || got.Version != "1.0" || got.TS < 1.7e9 || got.CreatedAt != got.TS {
		t.Errorf("header = %+v, created_at = %v", got.Header, got.CreatedAt)
	}
}

// oneWrite fails the test when a Write is not one whole line.
type oneWrite struct {
	t     *testing.T
	lines int
}

func (w *oneWrite) Write(p []byte) (int, error) {
	if bytes.Count(p, []byte("\n")) != 1 || p[len(p)-1] != '\n' {
		w.t.Errorf("write is not one line: %q", p)
	}
	w.lines++
	return len(p), nil
}

func TestEncoderWritesWholeLinesConcurrently(t *testing.T) {
	w := &oneWrite{t: t}
	enc := NewEncoder(w)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for range 50 {
				if err := enc.Encode(&Event{ReqID: fmt.Sprint(i), Data: map[string]any{"message": "a\nb\u2028"}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if w.lines != 1000 {
		t.Errorf("lines = %d, want 1000", w.lines)
	}
}

func TestEncoderErrors(t *testing.T) {
	var out bytes.Buffer
	enc := NewEncoder(&out)
	var bad *EncodeError
	if err := enc.Encode(&Event{Data: map[string]any{"x": math.NaN()}}); !errors.As(err, &bad) || out.Len() != 0 {
		t.Errorf("NaN: %v, written %q", err, out.String())
	}
	if err := enc.Encode(&Ping{}); err != nil {
		t.Errorf("the stream is spoilt: %v", err)
	}
	r, w := io.Pipe()
	_ = r.Close()
	enc = NewEncoder(w)
	if err := enc.Encode(&Ping{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write error = %v", err)
	}
}

func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		-time.Second: 0, 0: 0, 499 * time.Microsecond: 0, 500 * time.Microsecond: 1, 1499 * time.Microsecond: 1, 3 * time.Millisecond: 3,
	} {
		if got := Milliseconds(d); got != want {
			t.Errorf("Milliseconds(%v) = %d, want %d", d, got, want)
		}
	}
}
