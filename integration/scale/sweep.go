package scale

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// sweep is what make scale runs, at its full size or a small one.
type sweep struct {
	nodes, supervisors []int
	window             time.Duration
	lifts              int // how often what bends is lifted, at the largest size
	seed               uint64
}

func fullSweep() sweep {
	return sweep{nodes: []int{10, 100, 1000}, supervisors: []int{1, 3, 10}, window: 30 * time.Second, lifts: 4, seed: 1}
}

// options are those of one size: as many calls as take six tenths of its places.
func (s *sweep) options(nodes, supervisors int) Options {
	costs := Installed()
	return Options{
		Costs: costs, Nodes: nodes, Supervisors: supervisors, Pool: min(16, nodes*costs.Places/supervisors/4), Elsewhere: 16,
		Tenants: 20, Load: 0.6, Runs: 10 * time.Second, Warm: 30 * time.Second, Window: s.window, Seed: s.seed,
	}
}

// sizes runs each size.
func (s *sweep) sizes(t *testing.T) *table {
	tab := newTable("nodes", "supervisors")
	for _, nodes := range s.nodes {
		for _, supervisors := range s.supervisors {
			tab.add(t, Simulate(t, s.options(nodes, supervisors)), fmt.Sprint(nodes), fmt.Sprint(supervisors))
		}
	}
	return tab
}

// lifted runs the largest size again and again, each time with ten times of what bent before.
func (s *sweep) lifted(t *testing.T) *table {
	tab := newTable("ten times")
	o := s.options(slices.Max(s.nodes), slices.Max(s.supervisors))
	what := "nothing: as it is installed"
	for range s.lifts + 1 {
		g := Simulate(t, o)
		tab.add(t, g, what)
		part, _, bends := g.Bends()
		if !bends || !o.lift(part) {
			break
		}
		what = "and " + part
	}
	return tab
}

// lift makes a part ten times as good. It reports whether there is such a thing.
func (o *Options) lift(part string) bool {
	switch part {
	case partScheduler:
		o.Costs.Schedule /= 10
	case partStore:
		o.Costs.Fixed, o.Costs.Trip = o.Costs.Fixed/10, o.Costs.Trip/10
	case partAPI:
		o.Costs.Requests *= 10
	case partProcessors:
		o.Costs.Processors *= 10
	case partKubelets:
		o.Costs.Starts *= 10
	default:
		return false
	}
	return true
}

// losses loses a tenth of the nodes of the largest size, on a cluster whose scheduler keeps up.
func (s *sweep) losses(t *testing.T) *table {
	tab := newTable("nodes", "lost", "calls that failed", "of them sent after the loss, the last one")
	tab.reasons = true
	o := s.options(slices.Max(s.nodes), slices.Max(s.supervisors))
	o.Costs.Schedule /= 50
	o.Load, o.Runs, o.Loses, o.Window = 0.4, 15*time.Second, 0.1, 4*time.Minute
	g := Simulate(t, o)
	tab.add(t, g, fmt.Sprint(o.Nodes), fmt.Sprint(g.Failed), fmt.Sprint(g.Sent-g.Answered), g.Sick.Round(time.Second).String())
	return tab
}

// table is lines of Markdown.
type table struct {
	lines   []string
	reasons bool
}

func newTable(keys ...string) *table {
	head := append(keys, "calls sent", "answered well", "others", "first event p50", "p99", "cells that had waited", "longest queue", "fullest")
	return &table{lines: []string{"| " + strings.Join(head, " | ") + " |", strings.Repeat("|---", len(head)) + "|"}}
}

// add adds a line, and has the test fail for what must not be.
func (tab *table) add(t *testing.T, g *Figures, keys ...string) {
	t.Helper()
	for _, err := range g.Faults {
		t.Errorf("%v: %v", keys, err)
	}
	part, share, bends := g.Bends()
	fullest := fmt.Sprintf("%s, %.0f %%", part, 100*min(1, share))
	if bends {
		fullest = "**" + fullest + "**"
	}
	seconds := g.Options.Window.Seconds()
	line := append(keys,
		fmt.Sprintf("%.1f/s", float64(g.Sent)/seconds), fmt.Sprintf("%.1f/s", float64(g.Within)/seconds), fmt.Sprintf("%.0f %%", 100*float64(g.Sent-g.Answered)/float64(g.Sent)),
		inWords(Quantile(g.First, 0.5)), inWords(Quantile(g.First, 0.99)), fmt.Sprintf("%.0f %%", 100*g.Warm), fmt.Sprint(g.Deepest), fullest)
	tab.lines = append(tab.lines, "| "+strings.Join(line, " | ")+" |")
	t.Logf("scale: %s; refused %v; %s", strings.Join(line, " | "), g.Why, g.shares())
	if tab.reasons {
		tab.lines = append(tab.lines, "", "They failed as "+g.whys()+".")
	}
}

// shares are all parts and how full they were.
func (g *Figures) shares() string {
	var all []string
	for _, p := range g.Full {
		all = append(all, fmt.Sprintf("%s %.2f", p.part, p.share))
	}
	return strings.Join(all, ", ")
}

func (g *Figures) whys() string {
	var all []string
	for why, n := range g.Why {
		all = append(all, fmt.Sprintf("`%s` (%d)", strings.TrimSuffix(why, "/"), n))
	}
	slices.SortFunc(all, cmp.Compare)
	return strings.Join(all, " and ")
}

// inWords is a time with two digits.
func inWords(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// fill puts text between the markers of that name in a file.
func fill(file, name, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), "<!-- scale:"+name+" -->\n")
	_, after, closed := strings.Cut(rest, "<!-- scale:end -->")
	if !found || !closed {
		return fmt.Errorf("%s: expected the lines <!-- scale:%s --> and <!-- scale:end -->", file, name)
	}
	text = before + "<!-- scale:" + name + " -->\n" + text + "\n<!-- scale:end -->" + after
	return os.WriteFile(file, []byte(text), 0o644)
}
