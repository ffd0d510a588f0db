package scale

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a cluster of which a minute takes less than a second.
func small() Options {
	return Options{
		Costs: Installed(), Nodes: 12, Supervisors: 3, Pool: 4, Elsewhere: 4, Tenants: 5, Load: 0.5, Runs: 4 * time.Second,
		Warm: 20 * time.Second, Window: time.Minute, Seed: 1,
	}
}

// sound fails the test for what must not be at any size: a call without its one answer, more cells than there may be, something
// that is left.
func sound(t *testing.T, g *Figures) {
	t.Helper()
	for _, err := range g.Faults {
		t.Error(err)
	}
	sent := 0
	for _, all := range g.ByTenant {
		sent += len(all)
	}
	if sent < 300 || g.Sent == 0 {
		t.Errorf("%d calls were made, %d of them counted: too few to say anything", sent, g.Sent)
	}
}

func TestScaleWithRoom(t *testing.T) {
	g := Simulate(t, small())
	sound(t, g)
	if g.Answered != g.Sent {
		t.Errorf("%d of %d calls were answered well; the others: %v", g.Answered, g.Sent, g.Why)
	}
	if g.Warm < 0.3 {
		t.Errorf("%.2f of the cells had waited, want a third at least", g.Warm)
	}
	if part, share, bends := g.Bends(); bends {
		t.Errorf("%s is full (%.2f) at half of the load", part, share)
	}
	if again := Simulate(t, small()); again.Sent != g.Sent {
		t.Errorf("the same seed made %d calls and then %d", g.Sent, again.Sent)
	}
}

// One tenant sends half of twice of what can be done: it waits and is refused, and none of the others.
func TestScaleIsFair(t *testing.T) {
	o := small()
	o.Load, o.Pool = 0.95, 2
	g := Simulate(t, o)
	sound(t, g)
	well := func(tenant int) float64 {
		n := 0
		for _, call := range g.ByTenant[tenant] {
			if call.why == "" {
				n++
			}
		}
		return float64(n) / float64(len(g.ByTenant[tenant]))
	}
	for tenant := 1; tenant < o.Tenants; tenant++ {
		if well(tenant) < 0.99 {
			t.Errorf("%.2f of the calls of tenant %d were answered well, want all", well(tenant), tenant)
		}
	}
	if well(0) > 0.95 {
		t.Errorf("%.2f of the calls of the tenant that sends too many were answered: there was no crowd to be fair in", well(0))
	}
}

// More calls than a scheduler can place are refused in time, and what it can do is done.
func TestScaleBeyondTheScheduler(t *testing.T) {
	o := small()
	o.Nodes, o.Costs.Schedule, o.Load = 40, time.Second/8, 0.9
	g := Simulate(t, o)
	sound(t, g)
	if part, _, bends := g.Bends(); part != partScheduler || !bends {
		t.Errorf("%s bends (%t), want the scheduler: %s", part, bends, g.shares())
	}
	if could := int(o.Window / o.Costs.Schedule); g.Answered < could/2 {
		t.Errorf("%d calls were answered well, and %d could be placed; the others: %v", g.Answered, could, g.Why)
	}
	for why := range g.Why {
		if why != "runtime_error/queue_timeout" && why != "runtime_error/queue_full" {
			t.Errorf("calls ended as %s, want them refused while they queue: %v", why, g.Why)
		}
	}
}

// After the loss of a tenth of the nodes the calls there fail with the true reason, and no others do once the cluster knows.
func TestScaleLosesNodes(t *testing.T) {
	o := small()
	o.Nodes, o.Loses, o.Window, o.Load = 20, 0.1, 4*time.Minute, 0.4
	g := Simulate(t, o)
	sound(t, g)
	if g.Failed != 2 || g.Answered == g.Sent {
		t.Errorf("%d nodes were lost, and %d of %d calls answered well: want 2, and some not", g.Failed, g.Answered, g.Sent)
	}
	for why := range g.Why {
		if why != "sandbox_crash/engine_unavailable" && why != "timeout/" {
			t.Errorf("calls ended as %s: %v", why, g.Why)
		}
	}
	if most := o.Costs.NotReady + 5*time.Second; g.Sick > most {
		t.Errorf("a call that was sent %v after the loss failed, want none after %v", g.Sick, most)
	}
}

// envDoc names the variable with the document whose tables the full sweep is to write.
const envDoc = "HOTCELL_SCALE_DOC"

// TestScaleSweep is a small sweep, and the full one where its tables are wanted.
func TestScaleSweep(t *testing.T) {
	doc, s := os.Getenv(envDoc), fullSweep()
	if doc == "" {
		doc = filepath.Join(t.TempDir(), "scale.md")
		blank := ""
		for _, name := range []string{"sizes", "lifted", "losses"} {
			blank += "<!-- scale:" + name + " -->\n<!-- scale:end -->\n"
		}
		if err := os.WriteFile(doc, []byte(blank), 0o644); err != nil {
			t.Fatal(err)
		}
		s = sweep{nodes: []int{10, 20}, supervisors: []int{1, 2}, window: 10 * time.Second, lifts: 1, seed: 1}
	}
	for name, tab := range map[string]*table{"sizes": s.sizes(t), "lifted": s.lifted(t), "losses": s.losses(t)} {
		if err := fill(doc, name, strings.Join(tab.lines, "\n")); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 8 && slices.ContainsFunc(cells, func(c string) bool { return strings.HasSuffix(strings.TrimSpace(c), "/s") }) {
			rows++
		}
	}
	if least := len(s.nodes)*len(s.supervisors) + 2; rows < least {
		t.Errorf("%s has %d rows, want %d at least", doc, rows, least)
	}
}
