package faults

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/testutil/engineproxy"
)

// The requests of a call's life, and what may come to each of them.
var requests = []engineproxy.Rule{
	{Method: "GET", Path: "/images/*/*/json"}, {Method: "POST", Path: "/containers/create"}, {Method: "GET", Path: "/volumes/*"},
	{Method: "POST", Path: "/containers/*/attach"}, {Method: "POST", Path: "/containers/*/wait"}, {Method: "POST", Path: "/containers/*/start"},
	{Method: "GET", Path: "/containers/*/json"}, {Method: "DELETE", Path: "/containers/*"}, {Method: "GET", Path: "/containers/json"},
}

// randomFault is one of the faults that leave it open whether the engine has served the request. late bounds what is late.
func randomFault(r *rand.Rand, late time.Duration) engineproxy.Fault {
	pause := engineproxy.Pause{For: 1 + time.Duration(r.Int64N(int64(late)))}
	switch r.IntN(8) {
	case 0:
		return engineproxy.Fault{Drop: true}
	case 1:
		return engineproxy.Fault{Lost: true}
	case 2:
		return engineproxy.Fault{Before: pause}
	case 3:
		return engineproxy.Fault{After: pause}
	case 4:
		return engineproxy.Fault{CutBody: true, After: pause}
	case 5:
		return engineproxy.Fault{Answer: engineproxy.Says(500, "device or resource busy")}
	case 6:
		return engineproxy.Fault{Instead: engineproxy.Says(500, "context deadline exceeded")}
	}
	return engineproxy.Fault{Stream: &engineproxy.Stream{After: r.Int64N(300), Cut: true}}
}

// Calls meet faults at random. Whatever meets them: none is answered with a reason that is not the engine's, a success has
// its result, and nothing stays.
func TestRandomFaults(t *testing.T) {
	calls, _ := soak(t, "HOTCELL_SOAK_FAULTS", 6)
	seed, _ := soak(t, "HOTCELL_SOAK_SEED", 1)
	b := newBench(t, rig.Merge(common(), shell("sleeps", "", "echo up; sleep 1; echo 42")), nil)
	for _, skill := range []string{"quick", "sleeps"} {
		expect(t, b.call(t, skill, 60), "ok")
	}
	b.awaitNoCells(t)
	allowed := []string{"ok", "timeout", "sandbox_crash/engine_unavailable", "sandbox_crash/start_failed", "sandbox_crash/truncated"}
	var mu sync.Mutex
	seen := map[string]int{}
	work := make(chan int, calls)
	for i := range calls {
		work <- i
	}
	close(work)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for i := range work {
				r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
				rule := requests[r.IntN(len(requests))]
				rule.Nth, rule.Fault = 1+r.IntN(2), randomFault(r, 3*time.Second)
				injected := b.proxy.Inject(rule)
				answer := b.call(t, []string{"quick", "sleeps"}[r.IntN(2)], 3)
				injected.Remove()
				got := verdict(answer)
				mu.Lock()
				seen[got]++
				mu.Unlock()
				if !slices.Contains(allowed, got) {
					t.Errorf("call %d of seed %d, %s %s %+v: %s: %+v", i, seed, rule.Method, rule.Path, rule.Fault, got, answer.Error)
				}
			}
		})
	}
	all.Wait()
	t.Logf("soak: random faults, seed %d: %v", seed, seen)
	b.awaitNoCells(t) // what is late may come still: closing the supervisor waits for it, and a last look follows
	expect(t, b.call(t, "quick", 60), "ok")
}
