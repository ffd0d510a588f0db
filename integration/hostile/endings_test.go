package hostile

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// ending is one way for a call to end. Each draws its details from a source of randomness.
type ending struct {
	kind string
	draw func(h *house, r *rand.Rand) row
}

// endings are all there are.
func endings() []ending {
	return []ending{
		{"out of memory: itself", drawOf("memory", "memory-leak", "memory-memfd", "memory-sysv", "disk-inodes-shm", "disk-then-memory")},
		{"out of memory: a child", func(_ *house, r *rand.Rand) row {
			return tight("memory-child", strconv.Itoa(1+r.IntN(3)), strconv.Itoa(1+r.IntN(254))).ends(a2e.OutOfMemory, "", "")
		}},
		{"out of memory: PID 1", func(*house, *rand.Rand) row {
			return asFirst("memory", "", "", "memory").ends(a2e.OutOfMemory, "", "")
		}},
		{"exit 137", func(*house, *rand.Rand) row {
			return tight("exit", "137").ends(a2e.SkillError, a2e.ReasonExit, "exited with 137")
		}},
		{"exit", func(_ *house, r *rand.Rand) row {
			code := strconv.Itoa(1 + r.IntN(255))
			return tight("exit", code).ends(a2e.SkillError, a2e.ReasonExit, "exited with "+code)
		}},
		{"killed from outside", func(h *house, r *rand.Rand) row { return h.killed("8", r) }},
		{"killed from outside, near the limit", func(h *house, r *rand.Rand) row { return h.killed("80", r) }},
		{"time-out", func(_ *house, r *rand.Rand) row {
			how := [][]string{{"memory-hold", "80"}, {"spin"}, {"deaf"}, {"signal-self", "19"}}
			row := wide(how[r.IntN(len(how))]...).ends(a2e.Timeout, "", "")
			row.seconds = 1
			return row
		}},
		{"time-out, with children out of memory", func(*house, *rand.Rand) row {
			row := tight("memory-storm").ends(a2e.Timeout, "", "").but(tooMuch)
			row.seconds = 3
			return row
		}},
		{"crash", func(_ *house, r *rand.Rand) row {
			signals := []int{4, 5, 6, 7, 8, 9, 11, 15, 31}
			signal := strconv.Itoa(signals[r.IntN(len(signals))])
			return tight("signal-self", signal).ends(a2e.SandboxCrash, a2e.ReasonSignal, "signal "+signal)
		}},
		{"success, a child out of memory", func(_ *house, r *rand.Rand) row {
			return tight("memory-child", strconv.Itoa(1+r.IntN(3)), "0").and(noted("was killed for want of memory")).but(tooMuch)
		}},
		{"success, then out of memory", func(*house, *rand.Rand) row {
			return tight("memory-after-result").and(noted("was killed for want of memory"))
		}},
		{"success, a child killed", func(*house, *rand.Rand) row { return tight("kill-child").and(calm) }},
		{"success, near the limit", func(_ *house, r *rand.Rand) row { return wide("memory-brink", strconv.Itoa(40+r.IntN(40))).and(calm) }},
		{"success, then another exit", func(_ *house, r *rand.Rand) row {
			return tight("result-then-exit", strconv.Itoa(1+r.IntN(255))).and(noted("the skill exited with"))
		}},
		{"cancelled", func(_ *house, r *rand.Rand) row {
			return wide("memory-hold", "80").ends(a2e.RuntimeError, a2e.ReasonCancelled, "")
		}},
	}
}

// tight is a row with little memory.
func tight(args ...string) row { return row{name: args[0], yaml: small, args: args} }

// wide is a row with more of it.
func wide(args ...string) row { return row{name: args[0], yaml: roomy, args: args} }

func drawOf(names ...string) func(*house, *rand.Rand) row {
	return func(_ *house, r *rand.Rand) row {
		return tight(names[r.IntN(len(names))]).ends(a2e.OutOfMemory, "", "")
	}
}

// killed is a row whose cell is killed behind the supervisor's back, some time after it is up.
func (h *house) killed(megabytes string, r *rand.Rand) row {
	delay := time.Duration(r.IntN(100)) * time.Millisecond
	one := wide("memory-hold", megabytes).ends(a2e.SandboxCrash, a2e.ReasonSignal, "")
	one.id = a2e.NewID()
	one.hear = func(ctx context.Context, ev *a2e.Event) error {
		if ev.Data["message"] != "up" {
			return nil
		}
		time.Sleep(delay)
		call, _, err := h.Show(ctx, one.id)
		if err != nil {
			return err
		}
		return h.Shoot(ctx, call.Cell)
	}
	return one
}

// TestEndings makes endings of every kind, as often as another, in a random order and with random details. Each must get its
// true verdict; above all, nothing may be called out of memory that is not.
func TestEndings(t *testing.T) {
	all := endings()
	n, long := number(t, "HOTCELL_SOAK_ENDINGS", len(all)) // one of each
	seed, _ := number(t, "HOTCELL_SOAK_SEED", 1)
	load(t, []image{{name: "plain"}})
	h := newHouse(t, []row{tight("hello"), wide("hello"), asFirst("memory", "", "", "memory")})
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	var tally tally
	var at sync.WaitGroup
	turns := make(chan struct{}, 2)
	for i := range n {
		if i%len(all) == 0 {
			random.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		}
		which := all[i%len(all)]
		r := which.draw(h, random)
		turns <- struct{}{}
		at.Go(func() {
			defer func() { <-turns }()
			tally.count(which.kind, h.end(t, i, which.kind, &r))
		})
	}
	at.Wait()
	if long {
		fmt.Print(tally.table(seed))
	}
	if tally.falseOOM > 0 {
		t.Errorf("%d endings were called out of memory that were not, seed %d", tally.falseOOM, seed)
	}
}

// outcome is how an ending was told.
type outcome struct{ right, falseOOM bool }

// end makes one ending and holds its verdict against what must be.
func (h *house) end(t *testing.T, i int, kind string, r *row) outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := h.call(ctx, r, nil, func(ev *a2e.Event) {
		if kind == "cancelled" && ev.Data["message"] == "up" {
			cancel()
		}
	})
	want := r.verdict(h.runtime)
	code, reason := got.verdict()
	wrong := !want.fits(code, reason) || want.says != "" && !strings.Contains(got.answer.Error.Message, want.says)
	h.figures.counted(wrong)
	if wrong {
		t.Errorf("ending %d, %s (%s): got %q, reason %q: %+v, want %q, %q %s", i, kind, r.args, code, reason, got.answer.Error, want.code, want.reason, want.says)
		return outcome{false, code == a2e.OutOfMemory && want.code != a2e.OutOfMemory}
	}
	if want.check != nil {
		want.check(t, got)
	}
	return outcome{right: true}
}

// tally counts endings by kind.
type tally struct {
	mu       sync.Mutex
	kinds    map[string]int
	right    map[string]int
	falseOOM int
}

func (t *tally) count(kind string, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds, t.right = map[string]int{}, map[string]int{}
	}
	t.kinds[kind]++
	if o.right {
		t.right[kind]++
	}
	if o.falseOOM {
		t.falseOOM++
	}
}

func (t *tally) table(seed int) string {
	var b strings.Builder
	made, right := 0, 0
	for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
		fmt.Fprintf(&b, "soak: %-40s %4d of %4d right\n", kind, t.right[kind], t.kinds[kind])
		made, right = made+t.kinds[kind], right+t.right[kind]
	}
	fmt.Fprintf(&b, "soak: %-40s %4d of %4d right, %d false out_of_memory, seed %d\n", "all", right, made, t.falseOOM, seed)
	return b.String()
}
