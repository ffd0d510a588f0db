package hostile

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// house is a supervisor on the real engine with everybody watching how quickly both of them answer.
type house struct {
	*rig.Rig
	runtime string
	figures *figures
}

// newHouse wires a supervisor that knows the skills of the rows. It is closed, and its figures judged, at the test's end.
func newHouse(t *testing.T, rows []row, adjust ...func(*executor.Config)) *house {
	t.Helper()
	testutil.Require(t, "docker")
	testutil.Require(t, "image-python")
	if rig.OnCluster() {
		testutil.Require(t, "kubernetes")
	}
	runtime := os.Getenv("HOTCELL_RUNTIME")
	if runtime != "" && runtime != "runc" {
		testutil.Require(t, runtime)
	}
	program, err := os.ReadFile(testutil.GoBuild(t, "github.com/hotcell/hotcell/integration/hostile/skillbomb"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := rig.New(rig.Options{
		Runner:   testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell-runner"),
		Skills:   skillsOf(rows, program),
		Instance: instance,
		Adjust: func(cfg *executor.Config) {
			cfg.Policy.Runtime = runtime
			for _, f := range adjust {
				f(cfg)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{Rig: r, runtime: runtime, figures: &figures{}}
	t.Cleanup(func() {
		if err := r.Close(2 * time.Minute); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	h.watch(t)
	return h
}

// rounds is how often each row runs, and whether times are strict.
func rounds(t testing.TB) (n int, strict bool) {
	t.Helper()
	return number(t, "HOTCELL_SOAK_ROUNDS", 1)
}

// number reads a count from the environment, and whether it is there.
func number(t testing.TB, key string, normal int) (n int, set bool) {
	t.Helper()
	s := os.Getenv(key)
	if s == "" {
		return normal, false
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: expected a number above 0", key, s)
	}
	return n, true
}

// call makes a row's call and collects what comes.
func (h *house) call(ctx context.Context, r *row, facts any, hear func(*a2e.Event)) told {
	var mu sync.Mutex
	var got told
	got.answer = h.Run(ctx, a2e.Caller{Door: "test"}, r.request(facts), r.inputs, a2e.EventWriterFunc(func(ctx context.Context, ev *a2e.Event) error {
		mu.Lock()
		got.events = append(got.events, *ev)
		mu.Unlock()
		if hear != nil {
			hear(ev)
		}
		if r.hear != nil {
			return r.hear(ctx, ev)
		}
		return nil
	}))
	return got
}

// watch asks the supervisor and the engine, again and again until the test's end, and takes the time of each answer.
func (h *house) watch(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	ask := func(slot *time.Duration, question func(context.Context) error) {
		watching.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				if err := question(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("no answer after %v: %v", time.Since(began), err)
				}
				h.figures.longest(slot, time.Since(began))
				select {
				case <-ctx.Done():
				case <-time.After(200 * time.Millisecond):
				}
			}
		})
	}
	ask(&h.figures.hotcell, func(ctx context.Context) error { _, err := h.List(ctx, 1); return err })
	ask(&h.figures.engine, h.ping)
	t.Cleanup(func() {
		cancel()
		watching.Wait()
		h.figures.judge(t, h.runtime)
	})
}

// ping asks what makes the cells whether it answers. A cluster's API server, which others may be using, is asked again.
func (h *house) ping(ctx context.Context) error {
	p, ok := h.Cells.(sandbox.Pinger)
	if !ok {
		return nil
	}
	for began := time.Now(); ; {
		err := p.Ping(ctx)
		if err == nil || !rig.OnCluster() || time.Since(began) > clusterAnswers || ctx.Err() != nil {
			return err
		}
	}
}

// clusterAnswers is within what time a cluster must answer.
const clusterAnswers = time.Minute

// figures are what a run of rows is measured by.
type figures struct {
	mu              sync.Mutex
	calls, wrong    int
	overrun         time.Duration // the latest answer after its deadline
	hotcell, engine time.Duration // the slowest answers
}

func (f *figures) longest(slot *time.Duration, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*slot = max(*slot, took)
}

func (f *figures) counted(wrong bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if wrong {
		f.wrong++
	}
}

// judge holds the host's answers to their time and prints the figures of a long run.
func (f *figures) judge(t *testing.T, runtime string) {
	_, strict := rounds(t)
	limit := 10 * time.Second
	if strict {
		limit = time.Second
		if runtime == "" {
			runtime = "runc"
		}
		fmt.Printf("soak: %s under %s: %d calls, %d wrong verdicts, worst overrun %v, slowest answer of hotcell %v, of the engine %v\n",
			t.Name(), runtime, f.calls, f.wrong, f.overrun.Round(time.Millisecond), f.hotcell.Round(time.Microsecond), f.engine.Round(time.Microsecond))
	}
	engine := limit
	if rig.OnCluster() {
		engine = clusterAnswers
	}
	if f.hotcell > limit || f.engine > engine {
		t.Errorf("the host did not stay responsive: hotcell answered after %v, want that within %v, the engine after %v, want that within %v", f.hotcell, limit, f.engine, engine)
	}
}
