package executor

import (
	"bufio"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

// names checks that phases follow each other without a gap and make up the call's time, and returns their names.
func names(t *testing.T, c control.Call, until time.Time) string {
	t.Helper()
	var all []string
	var end time.Duration
	for _, p := range c.Phases {
		if p.From != end {
			t.Errorf("%s begins at %s, the one before ends at %s", p.Name, p.From, end)
		}
		all, end = append(all, p.Name), p.From+p.Took
	}
	if took := until.Sub(c.Accepted); end < took*95/100 || end > took*105/100 {
		t.Errorf("the phases take %s, the call %s", end, took)
	}
	return strings.Join(all, " ")
}

// Each call has its phases, here and in the journal, also without a tracer.
func TestPhases(t *testing.T) {
	path := dbPath(t)
	b := journalled(t, path, "one", func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
		time.Sleep(20 * time.Millisecond) // so that it is something that phases make up
		return well(ctx, req, in, say)
	}, nil)
	other := journalled(t, path, "two", hang, nil)
	for _, tt := range []struct {
		req  *a2e.CallRequest
		want string
	}{
		{sent("free", "r1"), "plan queue prepare start run answer"},
		{sent("no-such-skill", "r2"), "plan answer"},
	} {
		answer, _ := b.ask(t.Context(), tt.req)
		for who, s := range map[string]*Supervisor{"here": b.Supervisor, "elsewhere": other.Supervisor} {
			c, _, err := s.Show(t.Context(), answer.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(t, c, c.Ended); got != tt.want {
				t.Errorf("%s, %s: %s", tt.req.Name, who, got)
			}
		}
	}
}

// The last phase of a call that runs has what has passed so far.
func TestPhasesOfARunningCall(t *testing.T) {
	b := setUp(t, hang, nil)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() { defer close(answered); b.ask(ctx, sent("patient", "r1")) }()
	last := func() (p control.Phase) {
		page, err := b.Search(t.Context(), control.Whose{}, control.CallQuery{Verdict: control.VerdictRunning})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Calls) == 1 && len(page.Calls[0].Phases) > 0 {
			p = page.Calls[0].Phases[len(page.Calls[0].Phases)-1]
		}
		return p
	}
	testutil.Poll(t, 30*time.Second, func() bool { return last().Name == spanRun })
	before := last().Took
	testutil.Poll(t, 30*time.Second, func() bool { return last().Took > before })
	cancel()
	<-answered
}

// What has no room for another phase goes on with the last.
func TestManyPhases(t *testing.T) {
	var c course
	start := time.Now()
	for i := range 2 * mostPhases {
		c.enter(spanRun, start.Add(time.Duration(i)*time.Second))
	}
	call := control.Call{Accepted: start, Ended: start.Add(time.Minute), Phases: c.phases(start, start.Add(time.Minute))}
	if names(t, call, call.Ended); len(call.Phases) != mostPhases {
		t.Errorf("%d phases", len(call.Phases))
	}
	if allocs := testing.AllocsPerRun(10, func() { c.enter(spanRun, start) }); allocs > 0 {
		t.Errorf("%.0f allocations", allocs)
	}
}
