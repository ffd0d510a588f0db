package metrics

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

func TestCalls(t *testing.T) {
	reg := NewRegistry()
	m := New(reg, Options{})
	end := func(skill, door string, code a2e.Code, reason string) {
		m.CallAccepted(door)
		m.CallEnded(skill, control.Call{Skill: "as the caller wrote it", Door: door, Code: code, Reason: reason}, "")
	}
	end("a", "http", "", "")
	end("a", "http", a2e.RuntimeError, "queue_full")
	end("a", "mcp", a2e.RuntimeError, "a reason that nobody knows")
	end("a", "back", "bogus", "")
	end("", "socket", a2e.UnknownSkill, "")
	end("\xff", "a2a", "", "")
	end(Custom, "a2a", "", "")
	end(strings.Repeat("x", 129), "a2a", "", "")
	m.CallAccepted("cli")
	want := `
# HELP hotcell_calls_accepted_total Calls that were accepted, by door.
# TYPE hotcell_calls_accepted_total counter
hotcell_calls_accepted_total{door="a2a"} 3
hotcell_calls_accepted_total{door="cli"} 1
hotcell_calls_accepted_total{door="http"} 2
hotcell_calls_accepted_total{door="mcp"} 1
hotcell_calls_accepted_total{door="other"} 1
hotcell_calls_accepted_total{door="socket"} 1
# HELP hotcell_calls_open Calls accepted less calls ended, as counted: other than hotcell_calls_in_flight for long, a call was lost.
# TYPE hotcell_calls_open gauge
hotcell_calls_open 1
# HELP hotcell_calls_total Calls that ended, by skill (custom: any custom skill; none: no skill was found), code (ok, or an A2E error code), reason and door.
# TYPE hotcell_calls_total counter
hotcell_calls_total{code="ok",door="http",reason="",skill="a"} 1
hotcell_calls_total{code="other",door="other",reason="",skill="a"} 1
hotcell_calls_total{code="runtime_error",door="http",reason="queue_full",skill="a"} 1
hotcell_calls_total{code="runtime_error",door="mcp",reason="other",skill="a"} 1
hotcell_calls_total{code="ok",door="a2a",reason="",skill="custom"} 1
hotcell_calls_total{code="ok",door="a2a",reason="",skill="other"} 2
hotcell_calls_total{code="unknown_skill",door="socket",reason="",skill="none"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "hotcell_calls_total", "hotcell_calls_accepted_total", "hotcell_calls_open"); err != nil {
		t.Error(err)
	}
}

func TestSkillLabelsAreBounded(t *testing.T) {
	reg := NewRegistry()
	m := New(reg, Options{})
	for i := range 1000 {
		m.CallEnded(fmt.Sprintf("skill-%d", i), control.Call{Usage: &control.Usage{MemoryPeakBytes: 1, CPUMS: 1}}, "")
	}
	for name, want := range map[string]int{"hotcell_calls_total": maxSkills + 1, "hotcell_call_memory_peak_bytes": maxSkills + 1, "hotcell_call_cpu_seconds": maxSkills + 1} {
		if n, err := testutil.GatherAndCount(reg, name); err != nil || n != want {
			t.Errorf("%d series of %s, %v", n, name, err)
		}
	}
	if got := testutil.ToFloat64(m.ended.WithLabelValues("other", "ok", "", "other")); got != 1000-maxSkills {
		t.Errorf("other counts %v", got)
	}
}

// Whatever is reported, the number of series has a bound.
func TestSeriesAreBounded(t *testing.T) {
	reg := NewRegistry()
	m := New(reg, Options{Providers: []string{"p"}})
	log := m.Counting(audit.Nobody)
	report := func(from, to int) {
		for i := from; i < to; i++ {
			s := fmt.Sprint("made-up-", i)
			m.CallAccepted(s)
			m.CallEnded(s, control.Call{Door: s, Reason: s, Code: a2e.Code(s), Usage: &control.Usage{MemoryPeakBytes: int64(i)}}, "")
			m.Phase(s, time.Second, "")
			m.Resolved(s, time.Second)
			m.Missed(s)
			m.Wasted(s)
			m.Reaped(s)
			m.Asked(s, s, time.Second)
			log.Write(audit.Entry{Kind: "llm.request", Data: map[string]any{"provider": s, "reason": s, "status": i}})
			log.Write(audit.Entry{Kind: "egress.connect", Data: map[string]any{"verdict": s}})
			log.Write(audit.Entry{Kind: "tool.call", Data: map[string]any{"code": s}})
			log.Write(audit.Entry{Kind: s, Data: map[string]any{}})
		}
	}
	report(0, 1000)
	before, err := testutil.GatherAndCount(reg)
	if err != nil {
		t.Fatal(err)
	}
	report(1000, 3000)
	if after, err := testutil.GatherAndCount(reg); err != nil || after != before {
		t.Errorf("%d series became %d, %v", before, after, err)
	}
}

func TestServed(t *testing.T) {
	reg := NewRegistry()
	m := New(reg, Options{})
	m.CellCreated()
	m.CellCreated()
	m.CellDestroyed()
	m.Poisoned(2)
	m.QueueDepth(7)
	m.InFlight(3)
	m.Build("1.2.3")
	for _, took := range []time.Duration{3 * time.Millisecond, 700 * time.Second, -time.Second} {
		m.Phase("run", took, "")
	}
	m.Phase("dance", time.Second, "")
	m.Relayed(3, 100, 2, 1)
	m.Leased(true)
	m.Missed("empty")
	m.Asked("container_create", "engine", time.Second)
	m.Wrote(time.Millisecond, io.EOF)
	m.Lost(4)
	m.Sang(true, time.Second)
	m.Ready(true)
	m.Swept(true)
	m.Reaped("cell")
	m.Ask(Gauges{
		Pool: func() (int, int, int) { return 1, 2, 3 }, Backlog: func() (int, int) { return 4, 5 }, Size: func() int64 { return 6 },
	})
	m.Counting(audit.Nobody).Write(audit.Entry{Kind: "llm.request", Data: map[string]any{
		"provider": "p", "status": 200, "tokens_in": int64(10), "tokens_out": int64(20), "ms": int64(1500),
	}})
	m.CallEnded("a", control.Call{Usage: &control.Usage{MemoryPeakBytes: 5 << 20, CPUMS: 20}}, "")
	body := scrape(t, reg, "")
	for _, line := range []string{
		"hotcell_cells_created_total 2", "hotcell_cells_destroyed_total 1", "hotcell_cells_open 1", "hotcell_cells_poisoned 2",
		"hotcell_queue_depth 7", "hotcell_calls_in_flight 3",
		`hotcell_phase_duration_seconds_bucket{phase="run",le="0.0001"} 1`,
		`hotcell_phase_duration_seconds_bucket{phase="run",le="0.005"} 2`,
		`hotcell_phase_duration_seconds_bucket{phase="run",le="600"} 2`,
		`hotcell_phase_duration_seconds_bucket{phase="run",le="+Inf"} 3`,
		`hotcell_phase_duration_seconds_count{phase="other"} 1`,
		`hotcell_phase_duration_seconds_count{phase="queue"} 0`,
		"hotcell_relay_events_total 3", "hotcell_relay_bytes_total 100", "hotcell_relay_dropped_total 2", "hotcell_relay_truncated_total 1",
		`hotcell_leases_total{cell="warm"} 1`, `hotcell_pool_missed_total{reason="empty"} 1`,
		`hotcell_engine_errors_total{error="engine",operation="container_create"} 1`,
		"hotcell_store_write_errors_total 1", "hotcell_store_lost_total 4", `hotcell_canary_runs_total{outcome="ok"} 1`, "hotcell_ready 1",
		`hotcell_pool_cells{state="ready"} 1`, `hotcell_pool_cells{state="leaving"} 3`, "hotcell_store_queue_length 4",
		"hotcell_store_queue_bytes 5", "hotcell_store_size_bytes 6",
		`hotcell_llm_tokens_total{direction="out",provider="p"} 20`, `hotcell_llm_requests_total{provider="p",status="2xx"} 1`,
		`hotcell_call_memory_peak_bytes_bucket{skill="a",le="1.6777216e+07"} 1`, `hotcell_call_cpu_seconds_sum{skill="a"} 0.02`,
		`hotcell_reaper_removed_total{kind="cell"} 1`, `version="1.2.3"} 1`, "go_goroutines ",
	} {
		if !strings.Contains(body, line) {
			t.Errorf("no %s", line)
		}
	}
}

func scrape(t *testing.T, reg *Registry, accept string) string {
	t.Helper()
	rec, req := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	req.Header.Set("Accept", accept)
	reg.Handler().ServeHTTP(rec, req)
	if rec.Code != 200 {
		t.Fatal(rec.Code)
	}
	return rec.Body.String()
}

// A duration carries the trace that it belongs to, for scrapers that want it.
func TestExemplars(t *testing.T) {
	reg := NewRegistry()
	m := New(reg, Options{})
	m.Phase("run", time.Second, "")
	const open = "application/openmetrics-text"
	if strings.Contains(scrape(t, reg, open), "trace_id") {
		t.Error("an exemplar of no trace")
	}
	m.Phase("run", time.Second, "4bf92f3577b34da6a3ce929d0e0e4736")
	if !strings.Contains(scrape(t, reg, open), `# {trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} 1.0`) {
		t.Errorf("no exemplar")
	}
}

// Every metric passes promlint, also once everything has a label.
func TestLint(t *testing.T) {
	reg := NewRegistry()
	m := New(reg, Options{})
	m.CallAccepted("http")
	m.CallEnded("a", control.Call{Usage: &control.Usage{MemoryPeakBytes: 1}}, "")
	m.Build("1")
	m.Ready(true)
	m.Ask(Gauges{
		Pool: func() (int, int, int) { return 1, 2, 3 }, Backlog: func() (int, int) { return 4, 5 }, Size: func() int64 { return 6 },
	})
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestConcurrentUse(t *testing.T) {
	reg := NewRegistry()
	m := New(reg, Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				m.CallAccepted("http")
				m.CallEnded(fmt.Sprint("s", i*100+j), control.Call{Door: "http"}, "")
				m.Phase("run", time.Millisecond, "")
			}
		})
	}
	wg.Wait()
	if got := testutil.ToFloat64(m.accepted.WithLabelValues("http")); got != 800 {
		t.Errorf("accepted %v", got)
	}
	if n := len(m.skills.seen); n != maxSkills {
		t.Errorf("%d labels", n)
	}
}

func BenchmarkCall(b *testing.B) {
	m := New(prometheus.NewRegistry(), Options{})
	end := control.Call{Door: "http", Usage: &control.Usage{MemoryPeakBytes: 1 << 24, CPUMS: 3}}
	for b.Loop() {
		m.CallAccepted("http")
		for _, phase := range []string{"queue", "prepare", "lease", "run", "teardown"} {
			m.Phase(phase, time.Millisecond, "")
		}
		m.Relayed(3, 100, 0, 0)
		m.CallEnded("skill", end, "")
	}
}

// The closed sets must have every code and reason that the protocol has.
func TestSetsAreComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../a2e/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		word, err := strconv.Unquote(lit.Value)
		if err != nil {
			return true
		}
		n++
		if !codes()[word] && !reasons()[word] {
			t.Errorf("%s (%q) has no label", spec.Names[0].Name, word)
		}
		return true
	})
	if n < 20 {
		t.Errorf("found only %d words", n)
	}
}

type recorder struct {
	audit.Log
	got []audit.Entry
}

func (r *recorder) Record(_ context.Context, e audit.Entry) error {
	r.got = append(r.got, e)
	return nil
}

// What operators do gets through to the log that keeps it.
func TestActsPassThrough(t *testing.T) {
	to := &recorder{Log: audit.Nobody}
	m := New(NewRegistry(), Options{})
	log := audit.NewTally(m.Counting(to))
	if err := log.Record(t.Context(), audit.Entry{Kind: audit.CallCancel, Call: "c"}); err != nil || len(to.got) != 1 || to.got[0].Call != "c" {
		t.Errorf("%v, %v", to.got, err)
	}
	deaf := audit.NewTally(m.Counting(struct{ audit.Log }{audit.Nobody}))
	if err := deaf.Record(t.Context(), audit.Entry{Kind: audit.CallCancel}); err == nil {
		t.Error("an act that nobody keeps is no error")
	}
}
