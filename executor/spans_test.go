package executor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/trace"
	"github.com/hotcell/hotcell/sandbox/fake"
)

// notebook is a tracer that keeps everything.
type notebook struct {
	mu    sync.Mutex
	spans []*noted
	from  []a2e.Trace
	quiet bool // exports nothing
}

type noted struct {
	book       *notebook
	around     *noted
	n          int
	name       string
	told       map[string]any
	began, end time.Time
	ends       int
	failed     string
}

func (b *notebook) Begin(from a2e.Trace, name string, at time.Time) trace.Recorder {
	b.mu.Lock()
	b.from = append(b.from, from)
	b.mu.Unlock()
	return b.begin(nil, name, at)
}

func (b *notebook) begin(around *noted, name string, at time.Time) *noted {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &noted{book: b, around: around, n: len(b.spans) + 1, name: name, told: map[string]any{}, began: at}
	b.spans = append(b.spans, s)
	return s
}

func (s *noted) Begin(name string, at time.Time) trace.Recorder { return s.book.begin(s, name, at) }

func (s *noted) tell(key string, value any) {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	s.told[key] = value
}

func (s *noted) Text(key, value string)     { s.tell(key, value) }
func (s *noted) Number(key string, n int64) { s.tell(key, n) }
func (s *noted) Flag(key string, is bool)   { s.tell(key, is) }

func (s *noted) Fail(why string) {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	s.failed = why
}

func (s *noted) End(at time.Time) {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	s.end, s.ends = at, s.ends+1
}

func (s *noted) Place() a2e.Trace {
	return a2e.Trace{Parent: fmt.Sprintf("00-0af7651916cd43dd8448eb211c80319c-%016x-01", s.n), State: "kept=1"}
}

func (s *noted) Sampled() bool { return !s.book.quiet }

func (s *noted) ID() string { return "0af7651916cd43dd8448eb211c80319c" }

// story is every span, as the names of those around it, in order; each ended once, and the phases of each call follow each other
// without a gap.
func (b *notebook) story(t *testing.T) []string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var paths []string
	last := map[*noted]time.Time{}
	for _, s := range b.spans {
		path := s.name
		for at := s.around; at != nil; at = at.around {
			path = at.name + "/" + path
		}
		paths = append(paths, path)
		if s.ends != 1 || s.end.Before(s.began) {
			t.Errorf("%s ended %d times, from %s to %s", path, s.ends, s.began, s.end)
		}
		if s.name == spanTeardown || s.around == nil {
			continue
		}
		if before, ok := last[s.around]; ok && !before.Equal(s.began) || !ok && !s.began.Equal(s.around.began) {
			t.Errorf("there is a gap before %s", path)
		}
		last[s.around] = s.end
	}
	for around, end := range last {
		if !end.Equal(around.end) {
			t.Errorf("there is a gap at the end of %s", around.name)
		}
	}
	slices.Sort(paths)
	return paths
}

// Each way in which a call can go has its phases, one after the other, and says how it ended.
func TestTheSpansOfACall(t *testing.T) {
	whole := []string{"call", "call/answer", "call/plan", "call/prepare", "call/queue", "call/run", "call/start", "call/teardown"}
	for name, tt := range map[string]struct {
		life   life
		req    *a2e.CallRequest
		adjust func(*Config)
		want   []string
		code   string
	}{
		"well":      {well, req("free"), nil, whole, "ok"},
		"no result": {func(context.Context, map[string]any, *bufio.Reader, func(string, ...any)) int { return 3 }, req("free"), nil, whole, "sandbox_crash"},
		"unknown":   {well, req("fere"), nil, []string{"call", "call/answer", "call/plan"}, "unknown_skill"},
		"no image": {
			well, req("free"), func(c *Config) { c.Images = store{&images.UnavailableError{Ref: "img", Why: "gone"}} },
			[]string{"call", "call/answer", "call/plan", "call/prepare", "call/queue"}, "runtime_error",
		},
		"hosted": {well, req("greet"), hosting(guest{"greet": gives(1)}), []string{"call", "call/answer", "call/plan", "call/run"}, "ok"},
		"panic":  {well, req("free"), func(c *Config) { c.Images = panicking{} }, []string{"call", "call/answer", "call/plan", "call/prepare", "call/queue"}, "runtime_error"},
	} {
		t.Run(name, func(t *testing.T) {
			book := &notebook{}
			b := setUp(t, tt.life, func(c *Config) {
				c.Tracer = book
				if tt.adjust != nil {
					tt.adjust(c)
				}
			})
			answer, _ := b.ask(t.Context(), tt.req)
			b.settle(t)
			if diff := cmp.Diff(tt.want, book.story(t)); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
			call := book.spans[0]
			if call.told["hotcell.code"] != tt.code || call.told["hotcell.call.id"] != answer.ID || call.told["hotcell.door"] != "test" || (call.failed == "") != (tt.code == "ok") {
				t.Errorf("told %v, failed %q", call.told, call.failed)
			}
		})
	}
}

// A call belongs to the trace that its metadata names, else to that which its request came with; a hostile one is none. A call
// within a call is within the span of what made it, whatever it says.
func TestWhereInATraceACallIs(t *testing.T) {
	const one, two = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	book := &notebook{}
	var seen map[string]any
	b := setUp(t, func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
		seen, _ = req["metadata"].(map[string]any)
		return well(ctx, req, in, say)
	}, func(c *Config) { c.Tracer = book })
	came := a2e.WithTrace(t.Context(), a2e.ParseTrace(two, "b=2"))
	for _, metadata := range []map[string]any{{"traceparent": one, "tracestate": "a=1", "k": "v"}, {"traceparent": "00-hostile"}, {"traceparent": 7.0}, nil} {
		r := req("free")
		r.Metadata = metadata
		if answer, _ := b.ask(came, r); answer.Error != nil {
			t.Fatal(answer.Error)
		}
		run := slices.IndexFunc(book.spans, func(s *noted) bool { return s.name == spanRun && s.told["seen"] == nil })
		book.spans[run].tell("seen", true)
		if at := book.spans[run].Place(); seen["traceparent"] != at.Parent || seen["tracestate"] != "kept=1" || metadata["k"] != seen["k"] {
			t.Errorf("the skill was told %v, want %v", seen, at)
		}
		if metadata["k"] == "v" && metadata["traceparent"] != one {
			t.Error("the caller's own metadata was changed")
		}
	}
	if diff := cmp.Diff([]a2e.Trace{{Parent: one, State: "a=1"}, {Parent: two, State: "b=2"}, {Parent: two, State: "b=2"}, {Parent: two, State: "b=2"}}, book.from); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	tool := trace.Root(book, a2e.Trace{}, "tool", time.Now())
	ctx := service.Nested(trace.With(came, tool), []string{"outer"})
	if answer, _ := b.ask(ctx, req("free")); answer.Error != nil {
		t.Fatal(answer.Error)
	}
	b.settle(t)
	nested := book.spans[len(book.spans)-1]
	for nested.around.around != nil {
		nested = nested.around
	}
	if nested.name != spanCall || nested.around.name != "tool" {
		t.Errorf("%s is within %s", nested.name, nested.around.name)
	}
}

// pointers are the traces that metrics are given to point to.
type pointers struct {
	blind
	mu  sync.Mutex
	all []string
}

func (p *pointers) point(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, to)
}

func (p *pointers) Phase(_ string, _ time.Duration, to string)    { p.point(to) }
func (p *pointers) CallEnded(_ string, _ control.Call, to string) { p.point(to) }

// Metrics point to traces that can be looked up, and to no others.
func TestMetricsPointToTracesThatAreExported(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		seen := &pointers{}
		s, err := New(Config{
			Driver: fake.New(program(well)), Images: store{}, Skills: catalog(t), Instance: "test", Observer: seen, Runner: runnerTree,
			DefaultImages: map[string]string{"python": "img"}, Tracer: &notebook{quiet: quiet},
		})
		if err != nil {
			t.Fatal(err)
		}
		if answer := s.Call(t.Context(), a2e.Caller{}, req("free"), nil); answer.Error != nil {
			t.Error(answer.Error)
		}
		if err := s.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := "0af7651916cd43dd8448eb211c80319c"
		if quiet {
			want = ""
		}
		if len(seen.all) < 5 || slices.ContainsFunc(seen.all, func(to string) bool { return to != want }) {
			t.Errorf("exported %t: %q", !quiet, seen.all)
		}
	}
}

// Where nobody keeps traces a skill is told what its caller said, and nothing where that is nothing.
func TestWithoutTraces(t *testing.T) {
	const one = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var seen map[string]any
	b := setUp(t, func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
		seen, _ = req["metadata"].(map[string]any)
		return well(ctx, req, in, say)
	}, nil)
	b.ask(a2e.WithTrace(t.Context(), a2e.ParseTrace(one, "a=1")), req("free"))
	if seen["traceparent"] != one || seen["tracestate"] != "a=1" {
		t.Errorf("the skill was told %v", seen)
	}
	b.ask(t.Context(), req("free"))
	if len(seen) != 0 {
		t.Errorf("the skill was told %v", seen)
	}
}

// The same request sent again is the same, though its place in a trace is another; it makes no second call.
func TestARequestAgainInAnotherTrace(t *testing.T) {
	book := &notebook{}
	b := setUp(t, well, func(c *Config) { c.Tracer = book })
	var ids []string
	for _, parent := range []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"} {
		r := req("free")
		r.ID, r.Metadata = "r1", map[string]any{"traceparent": parent}
		answer, _ := b.ask(t.Context(), r)
		if answer.Error != nil {
			t.Fatal(answer.Error)
		}
		ids = append(ids, answer.ID)
	}
	b.settle(t)
	if ids[0] != ids[1] || len(book.from) != 1 {
		t.Errorf("calls %v, %d traces", ids, len(book.from))
	}
}

// Every line about a call says which, whose, of which skill, and in which trace.
func TestLinesAboutACall(t *testing.T) {
	var log bytes.Buffer // written by one handler, read at the end
	b := setUp(t, well, func(c *Config) {
		c.Tracer, c.Log = &notebook{}, slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	answer := b.Call(t.Context(), a2e.Caller{Principal: "alice", Door: "test"}, req("free"), a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
		return errors.New("nobody listens")
	}))
	b.settle(t)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for _, line := range lines {
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil || got["call"] != answer.ID || got["principal"] != "alice" || got["skill"] != "free" || got["trace_id"] != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("%v: %s", err, line)
		}
	}
	if len(lines) < 2 || !strings.Contains(log.String(), "nobody listens") || !strings.Contains(log.String(), "call ended") {
		t.Error(log.String())
	}
}
