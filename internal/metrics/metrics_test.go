package metrics

import (
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

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestCalls(t *testing.T) {
	reg := NewRegistry()
	m := New(reg)
	m.CallAccepted("a")
	m.CallAccepted("b")
	m.CallEnded("a", "ok", "")
	m.CallEnded("a", "runtime_error", "queue_full")
	m.CallEnded("a", "runtime_error", "a reason that nobody knows")
	m.CallEnded("a", "bogus", "")
	m.CallEnded("made-up", "unknown_skill", "")
	m.CallEnded("", "parse_error", "")
	m.CallEnded("\xff", "ok", "")
	m.CallEnded(strings.Repeat("x", 129), "ok", "")
	want := `
# HELP hotcell_calls_accepted_total Calls that were accepted.
# TYPE hotcell_calls_accepted_total counter
hotcell_calls_accepted_total 2
# HELP hotcell_calls_total Calls that ended, by skill, code (ok, or an A2E error code) and reason.
# TYPE hotcell_calls_total counter
hotcell_calls_total{code="ok",reason="",skill="a"} 1
hotcell_calls_total{code="other",reason="",skill="a"} 1
hotcell_calls_total{code="runtime_error",reason="other",skill="a"} 1
hotcell_calls_total{code="runtime_error",reason="queue_full",skill="a"} 1
hotcell_calls_total{code="ok",reason="",skill="other"} 2
hotcell_calls_total{code="parse_error",reason="",skill="other"} 1
hotcell_calls_total{code="unknown_skill",reason="",skill="other"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "hotcell_calls_total", "hotcell_calls_accepted_total"); err != nil {
		t.Error(err)
	}
}

func TestSkillLabelsAreBounded(t *testing.T) {
	reg := NewRegistry()
	m := New(reg)
	for i := range 1000 {
		m.CallEnded(fmt.Sprintf("made-up-%d", i), "unknown_skill", "") // crowds nobody out
	}
	for i := range 1000 {
		m.CallEnded(fmt.Sprintf("skill-%d", i), "ok", "")
	}
	n, err := testutil.GatherAndCount(reg, "hotcell_calls_total")
	if err != nil || n != maxSkills+2 { // other with ok, other with unknown_skill
		t.Errorf("%d series, %v", n, err)
	}
	if got := testutil.ToFloat64(m.calls.WithLabelValues("other", "ok", "")); got != 1000-maxSkills {
		t.Errorf("other counts %v", got)
	}
	m.CallEnded("skill-0", "unknown_skill", "")
	if got := testutil.ToFloat64(m.calls.WithLabelValues("skill-0", "unknown_skill", "")); got != 1 {
		t.Errorf("a known skill lost its label")
	}
}

func TestCellsGaugesAndPhases(t *testing.T) {
	reg := NewRegistry()
	m := New(reg)
	m.CellCreated()
	m.CellCreated()
	m.CellDestroyed()
	m.QueueDepth(7)
	m.InFlight(3)
	m.Build("1.2.3")
	m.Phase("run", 3*time.Millisecond)
	m.Phase("run", 700*time.Second)
	m.Phase("run", -time.Second)
	m.Phase("dance", time.Second)

	rec := httptest.NewRecorder()
	reg.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(rec.Body)
	if err != nil || rec.Code != 200 {
		t.Fatal(rec.Code, err)
	}
	for _, line := range []string{
		"hotcell_cells_created_total 2", "hotcell_cells_destroyed_total 1", "hotcell_queue_depth 7", "hotcell_calls_in_flight 3",
		`hotcell_phase_duration_seconds_bucket{phase="run",le="0.0005"} 1`,
		`hotcell_phase_duration_seconds_bucket{phase="run",le="0.005"} 2`,
		`hotcell_phase_duration_seconds_bucket{phase="run",le="600"} 2`,
		`hotcell_phase_duration_seconds_bucket{phase="run",le="+Inf"} 3`,
		`hotcell_phase_duration_seconds_count{phase="other"} 1`,
		`hotcell_phase_duration_seconds_count{phase="queue"} 0`,
		`version="1.2.3"} 1`, "go_goroutines ",
	} {
		if !strings.Contains(string(body), line) {
			t.Errorf("no %s", line)
		}
	}
}

func TestLint(t *testing.T) {
	reg := NewRegistry()
	m := New(reg)
	m.CallEnded("a", "ok", "")
	m.Build("1")
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
	m := New(reg)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				m.CallAccepted("s")
				m.CallEnded(fmt.Sprint("s", i*100+j), "ok", "")
				m.Phase("run", time.Millisecond)
			}
		})
	}
	wg.Wait()
	if got := testutil.ToFloat64(m.accepted); got != 800 {
		t.Errorf("accepted %v", got)
	}
	if n := len(m.skills.seen); n != maxSkills {
		t.Errorf("%d labels", n)
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
