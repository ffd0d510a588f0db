package relay

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/a2e"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// said is what came of one cell's output.
type said struct {
	events     []a2e.Event
	milestones []Milestone
}

func (s said) messages() []string {
	var out []string
	for _, ev := range s.events {
		out = append(out, fmt.Sprint(ev.Kind, " ", ev.Data["message"]))
	}
	return out
}

func (s said) milestone(pick func(Milestone) bool) *Milestone {
	for i := range s.milestones {
		if pick(s.milestones[i]) {
			return &s.milestones[i]
		}
	}
	return nil
}

func relayed(t *testing.T, opts Options, stdout io.Reader) said {
	t.Helper()
	var got said
	opts.ReqID = "r1"
	if opts.Output == 0 {
		opts.Output = 1 << 20
	}
	if opts.Out == 0 {
		opts.Out = 1 << 20
	}
	opts.Deliver = func(_ context.Context, ev *a2e.Event) { got.events = append(got.events, *ev) }
	r := New(opts)
	var wg sync.WaitGroup
	wg.Go(func() { r.Deliver(t.Context()) })
	r.Read(stdout)
	r.Close()
	wg.Wait()
	close(r.milestones)
	for m := range r.milestones {
		got.milestones = append(got.milestones, m)
	}
	for i, ev := range got.events {
		if ev.Seq != i || ev.ReqID != "r1" || ev.Type != a2e.TypeEvent {
			t.Errorf("event %d: seq %d, req_id %q, type %q", i, ev.Seq, ev.ReqID, ev.Type)
		}
	}
	return got
}

func lines(l ...string) io.Reader { return strings.NewReader(strings.Join(l, "\n") + "\n") }

func TestEventsAreCoercedToTheFourKinds(t *testing.T) {
	got := relayed(t, Options{}, lines(
		`{"type":"skill/event","kind":"progress","data":{"pct":30.9,"message":"on","more":[1]}}`,
		`{"type":"skill/event","kind":"progress","data":{"pct":-5}}`,
		`{"type":"skill/event","kind":"progress","data":{"pct":1e999,"message":7}}`,
		`{"type":"skill/event","kind":"progress","data":{"pct":"half","message":"m"}}`,
		`{"type":"skill/event","kind":"llm.token","data":{"t":1}}`,
		`{"type":"skill/event","kind":"log","data":{"level":"SHOUT","message":"x"}}`,
		`{"type":"skill/event","kind":"log","data":{"level":"warning","message":"y"}}`,
		`{"type":"skill/event","kind":"status","data":{"message":null}}`,
		`{"type":"skill/event","kind":"artifact","data":{"name":"a","chunk":"aGk=","final":true}}`,
		`{"type":"skill/event","kind":"artifact","data":{"name":"b","chunk":"not base64!"}}`,
	))
	type shape struct {
		Kind string
		Data map[string]any
	}
	var have []shape
	for _, ev := range got.events {
		have = append(have, shape{ev.Kind, ev.Data})
	}
	want := []shape{
		{"progress", map[string]any{"pct": 30, "message": "on", "more": json.RawMessage("[1]")}},
		{"progress", map[string]any{"pct": 0, "message": ""}},
		{"progress", map[string]any{"pct": 100, "message": "7"}},
		{"status", map[string]any{"message": "m"}},
		{"status", map[string]any{"message": "llm.token", "kind": "llm.token", "data": json.RawMessage(`{"t":1}`)}},
		{"log", map[string]any{"level": "info", "message": "x"}},
		{"log", map[string]any{"level": "warn", "message": "y"}},
		{"status", map[string]any{"message": ""}},
		{"artifact", map[string]any{"name": "a", "mime": "application/octet-stream", "chunk": "aGk=", "final": true}},
		{"log", map[string]any{"level": "warn", "message": "an artifact without a name of at most 255 bytes or with a chunk that is not base64 was dropped"}},
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

func TestHostileLinesBecomeLogs(t *testing.T) {
	got := relayed(t, Options{}, lines(
		`Error attaching: no such container`,
		`{"type":"cell/tool","name":"rm"}`,
		`{"type":"skill/event"}`,
		`{"type":"skill/event","kind":"log","data":[1]}`,
		`{"type":"skill/result","success":"yes"}`,
		`{"type":"skill/result"}`,
		`{"type":"skill/event","type":"skill/result","success":true}`,
		`[1,2]`,
		strings.Repeat("[", 100_000),
		"\x00\xff\xfe",
	))
	for _, m := range got.milestones {
		if m.Result != nil || m.Exit != nil {
			t.Errorf("a hostile line became a milestone: %+v", m)
		}
	}
	if len(got.events) != 10 {
		t.Errorf("%d events, want 10: %q", len(got.events), got.messages())
	}
	for _, ev := range got.events {
		if ev.Kind != a2e.KindLog {
			t.Errorf("kind %s of %v", ev.Kind, ev.Data)
		}
	}
}

func TestTheFirstResultStands(t *testing.T) {
	got := relayed(t, Options{}, lines(
		`{"type":"cell/ready","protocol":1}`,
		`{"type":"skill/result","success":true,"data":1}`,
		`{"type":"skill/result","success":false,"error":"late"}`,
		`{"type":"cell/exit","exit_code":0,"oom_kills":0}`,
		`{"type":"cell/exit","exit_code":9,"oom_kills":0}`,
	))
	if m := got.milestone(func(m Milestone) bool { return m.Result != nil }); m == nil || string(m.Result.Data) != "1" {
		t.Errorf("result = %+v", m)
	}
	if m := got.milestone(func(m Milestone) bool { return m.Exit != nil }); m == nil || m.Exit.ExitCode != 0 {
		t.Errorf("exit = %+v", m)
	}
	if len(got.milestones) != 4 { // ready, result, exit, ended
		t.Errorf("milestones: %+v", got.milestones)
	}
	if want := "log the cell sent another result, which was ignored: the first one stands"; len(got.events) != 1 || got.messages()[0] != want {
		t.Errorf("events: %q", got.messages())
	}
}

func TestAFramesCellCannotForgeTheRunnersEvidence(t *testing.T) {
	got := relayed(t, Options{Frames: true}, lines(`{"type":"cell/exit","exit_code":0,"oom_kills":7}`))
	if m := got.milestone(func(m Milestone) bool { return m.Exit != nil }); m != nil {
		t.Errorf("exit = %+v", m)
	}
}

func TestBudgets(t *testing.T) {
	flood := func(line string, n int) io.Reader { return strings.NewReader(strings.Repeat(line+"\n", n)) }
	chunk := base64.StdEncoding.EncodeToString(make([]byte, 3000))
	tests := []struct {
		name string
		in   io.Reader
		want string
	}{
		{"events", flood(`{"type":"skill/event","kind":"log","data":{"message":"`+strings.Repeat("m", 100)+`"}}`, 100), BudgetOutput},
		{"plain output", flood("ticktack", 1000), BudgetOutput},
		{"bad lines", flood(`{"type":"cell/open"}`, 100), BudgetOutput},
		{"artifacts", flood(`{"type":"skill/event","kind":"artifact","data":{"name":"a","chunk":"`+chunk+`"}}`, 5), BudgetArtifact},
		{"result", lines(`{"type":"skill/result","success":true,"data":"` + strings.Repeat("x", 2<<20) + `"}`), BudgetResult},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := relayed(t, Options{Output: 5000, Out: 10_000}, tt.in)
			m := got.milestone(func(m Milestone) bool { return m.Over != "" })
			if m == nil || m.Over != tt.want {
				t.Fatalf("milestones %+v, want %s exceeded", got.milestones, tt.want)
			}
			if n := len(got.events); n > 5000/8 {
				t.Errorf("%d events were relayed beyond the budget", n)
			}
		})
	}
}

// Events that say nothing cost no bytes, but there is an end to them.
func TestTheNumberOfEventsIsBounded(t *testing.T) {
	r := New(Options{Output: 1, Out: 1})
	r.events = mostEvents - 1
	r.Read(strings.NewReader(strings.Repeat(`{"type":"skill/event","kind":"status","data":{}}`+"\n", 3)))
	if m := <-r.Milestones(); m.Over != BudgetEvents || r.seq != 1 {
		t.Errorf("milestone %+v, %d events", m, r.seq)
	}
}

// limits.output means the bytes that a skill prints, limits.out those of its files: what JSON and base64 add is not its fault.
func TestWhatFitsExactlyPasses(t *testing.T) {
	got := relayed(t, Options{Output: 8000}, strings.NewReader(strings.Repeat("1234567\n", 1000)))
	if m := got.milestone(func(m Milestone) bool { return m.Over != "" }); m != nil || len(got.events) != 1000 {
		t.Errorf("plain output: over %+v, %d events", m, len(got.events))
	}
	chunk := base64.StdEncoding.EncodeToString(make([]byte, 1000))
	line := `{"type":"skill/event","kind":"artifact","data":{"name":"a long enough name","mime":"text/plain","chunk":"` + chunk + `"}}`
	got = relayed(t, Options{Out: 10_000}, lines(slices.Repeat([]string{line}, 10)...))
	if m := got.milestone(func(m Milestone) bool { return m.Over != "" }); m != nil || len(got.events) != 10 {
		t.Errorf("artifacts: over %+v, %d events", m, len(got.events))
	}
}

// One spelling of a name is booked and delivered, whatever other spellings the object holds.
func TestAnArtifactsNameIsOne(t *testing.T) {
	a := `{"type":"skill/event","kind":"artifact","data":{"name":"x","Name":"y","chunk":"aGk=","final":true}}`
	got := relayed(t, Options{}, lines(a, a))
	if len(got.events) != 2 || got.events[0].Kind != a2e.KindArtifact || got.events[1].Kind != a2e.KindLog {
		t.Errorf("events: %+v", got.events)
	}
}

func TestAnotherProtocolIsNotReady(t *testing.T) {
	got := relayed(t, Options{}, lines(`{"type":"cell/ready","protocol":99}`, `{"type":"cell/ready"}`))
	if m := got.milestone(func(m Milestone) bool { return m.Ready }); m != nil || len(got.events) != 2 {
		t.Errorf("milestone %+v, events %q", m, got.messages())
	}
}

func TestAnArtifactEndsOnce(t *testing.T) {
	a := func(name string, final bool) string {
		return fmt.Sprintf(`{"type":"skill/event","kind":"artifact","data":{"name":%q,"chunk":"aGk=","final":%v}}`, name, final)
	}
	got := relayed(t, Options{}, lines(a("x", false), a("x", true), a("x", true), a("x", false), a("y", true)))
	kinds := ""
	for _, ev := range got.events {
		kinds += ev.Kind[:1]
	}
	if kinds != "aalla" {
		t.Errorf("kinds = %s, want two chunks, two warnings and a chunk", kinds)
	}
}

// A consumer that stops reading stalls neither the reader nor the cell, and gets everything in the end.
func TestASlowConsumerStallsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := New(Options{Output: 1 << 20, Out: 1, Deliver: func(context.Context, *a2e.Event) {
			time.Sleep(time.Hour)
			n++
		}})
		var wg sync.WaitGroup
		wg.Go(func() { r.Deliver(t.Context()) })
		start := time.Now()
		r.Read(strings.NewReader(strings.Repeat("line\n", 50)))
		if d := time.Since(start); d != 0 {
			t.Errorf("reading took %v", d)
		}
		r.Close()
		wg.Wait()
		if n != 50 {
			t.Errorf("%d events arrived, want 50", n)
		}
	})
}

func TestACutStreamIsToldFromAnOrderlyEnd(t *testing.T) {
	cut := io.MultiReader(strings.NewReader("half a li"), errReader{io.ErrUnexpectedEOF})
	got := relayed(t, Options{}, cut)
	if m := got.milestone(func(m Milestone) bool { return m.Ended }); m == nil || !errors.Is(m.Err, io.ErrUnexpectedEOF) {
		t.Errorf("milestones: %+v", got.milestones)
	}
	got = relayed(t, Options{}, lines("whole"))
	if m := got.milestone(func(m Milestone) bool { return m.Ended }); m == nil || m.Err != nil {
		t.Errorf("milestones: %+v", got.milestones)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// Whatever a cell prints: the events are numbered without a gap, of the four kinds, valid JSON, and the budgets hold.
func FuzzRelay(f *testing.F) {
	f.Add([]byte(`{"type":"skill/event","kind":"progress","data":{"pct":1e400,"message":[1]}}`))
	f.Add([]byte(`{"type":"skill/event","kind":"x","data":{"a":{"b":[]},"c":null,"d":true,"e":-0.0,"\u00e9":"\ud800"}}`))
	f.Add([]byte(`{"type":"skill/event","kind":"artifact","data":{"name":"a","chunk":"aGk=","final":true}}` + "\nplain\xff\n" + `{"type":"skill/result","success":true}`))
	f.Add([]byte(`{"type":"cell/exit","exit_code":0,"oom_kills":0}` + "\n" + `{"type":"cell/ready","protocol":1}`))
	f.Fuzz(func(t *testing.T, stdout []byte) {
		const budget = 4096
		var kept []string
		got := relayed(t, Options{Output: budget, Out: budget, Keep: func(ev *a2e.Event) {
			b, err := json.Marshal(ev)
			if err != nil {
				t.Fatalf("%+v: %v", ev, err)
			}
			kept = append(kept, string(b))
		}}, strings.NewReader(string(stdout)))
		if len(kept) != len(got.events) {
			t.Fatalf("%d events were kept and %d delivered", len(kept), len(got.events))
		}
		total := 0
		for i, ev := range got.events {
			b, err := json.Marshal(ev)
			if err != nil || string(b) != kept[i] {
				t.Fatalf("event %d was kept as %s and delivered as %s, %v", i, kept[i], b, err)
			}
			if !slices.Contains([]string{a2e.KindLog, a2e.KindProgress, a2e.KindStatus, a2e.KindArtifact}, ev.Kind) {
				t.Fatalf("kind %q", ev.Kind)
			}
			total += len(fmt.Sprint(ev.Data["message"]))
		}
		if total > 8*budget {
			t.Fatalf("%d bytes of messages went out", total)
		}
		for _, m := range got.milestones {
			if m.Result != nil && m.Result.Success == nil {
				t.Fatal("a result without success")
			}
		}
	})
}

// A relay is hushed as long as its cell has said no more than so many lines; what comes afterwards is read and dropped.
func TestHush(t *testing.T) {
	for _, early := range []bool{true, false} {
		pr, pw := io.Pipe()
		var kept []string
		r := New(Options{ReqID: "r1", Output: 1 << 20, Out: 1 << 20,
			Keep:    func(ev *a2e.Event) { kept = append(kept, fmt.Sprint(ev.Data["message"])) },
			Deliver: func(context.Context, *a2e.Event) {},
			Use:     func(kind string, _ []byte) error { kept = append(kept, kind); return nil },
		})
		var reading sync.WaitGroup
		reading.Go(func() { r.Read(pr) })
		_, _ = io.WriteString(pw, `{"type":"cell/ready","protocol":1}`+"\n")
		if m := <-r.Milestones(); !m.Ready {
			t.Fatalf("%+v", m)
		}
		if early && !r.Hush(1) {
			t.Error("not hushed after one line")
		}
		_, _ = io.WriteString(pw, "a last word\n"+`{"type":"cell/open","stream":1,"port":"x"}`+"\n")
		_ = pw.Close()
		reading.Wait()
		if !early && r.Hush(1) {
			t.Error("hushed after three lines")
		}
		r.Close()
		r.Deliver(t.Context())
		if heard := len(kept) > 0; heard == early {
			t.Errorf("hushed early: %v, and heard %q", early, kept)
		}
	}
}
