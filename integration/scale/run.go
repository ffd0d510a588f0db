package scale

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Figures are what came of a simulation.
type Figures struct {
	Options  Options
	Sent     int            // within the window
	Answered int            // of these, well
	Within   int            // calls that were answered well within the window, whenever they were sent
	Why      map[string]int // of the others
	First    []time.Duration
	Warm     float64 // share of the cells that had waited
	Deepest  int     // calls that waited at one supervisor
	Full     []fullness
	Failed   int           // nodes
	Sick     time.Duration // from their end until the last call was sent that failed
	ByTenant map[int][]told
	Faults   []error
}

// The parts that may be full.
const (
	partScheduler  = "the scheduler"
	partStore      = "the store's writer"
	partAPI        = "a supervisor's requests to the API"
	partProcessors = "a supervisor's processors"
	partKubelets   = "the kubelets' starts"
	partPlaces     = "places for cells"
	partCells      = "cells of a supervisor (`max_cells`)"
)

// fullness is how much of a part was in use, of 1.
type fullness struct {
	part  string
	share float64
}

// Simulate runs opts in virtual time.
func Simulate(t *testing.T, opts Options) (fig *Figures) {
	synctest.Test(t, func(t *testing.T) {
		f, err := newFleet(opts)
		if err != nil {
			t.Fatal(err)
		}
		fig = f.run()
		if err := f.close(); err != nil {
			fig.Faults = append(fig.Faults, err)
		}
	})
	return fig
}

// arrival is one call to be made.
type arrival struct {
	after         time.Duration // the one before
	tenant, skill int
	runs          time.Duration
}

// arrivals draws the calls, the same for each seed.
func (o *Options) arrivals() func() arrival {
	rng := rand.New(rand.NewPCG(o.Seed, 3))
	mean := o.Runs.Seconds() * 1.094 // of what spread draws
	rate := o.Load * float64(o.Nodes*o.Costs.Places) / mean
	return func() arrival {
		a := arrival{after: time.Duration(rng.ExpFloat64() / rate * float64(time.Second)), runs: spread(rng, o.Runs)}
		if rng.IntN(2) == 0 && o.Tenants > 1 {
			a.tenant = 1 + rng.IntN(o.Tenants-1)
		}
		for a.skill < skillsOf-1 && rng.IntN(2) == 0 {
			a.skill++
		}
		return a
	}
}

// run makes the calls and watches.
func (f *fleet) run() *Figures {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var watch sync.WaitGroup
	fig := &Figures{Options: f.opts, Why: map[string]int{}, ByTenant: map[int][]told{}}
	watch.Go(func() { f.look(ctx, fig) })

	began := time.Now()
	from, to := began.Add(f.opts.Warm), began.Add(f.opts.Warm+f.opts.Window)
	var calls sync.WaitGroup
	var mu sync.Mutex
	var all []told
	next, restarted, failed := f.opts.arrivals(), false, time.Time{}
	for n := 0; ; n++ {
		a := next()
		time.Sleep(a.after)
		now := time.Now()
		if !restarted && !now.Before(from) {
			restarted = true
			f.restart()
		}
		if f.opts.Loses > 0 && failed.IsZero() && now.Sub(from) > f.opts.Window/4 {
			failed, fig.Failed = now, f.cluster.fail(f.opts.Loses)
		}
		if now.After(to) {
			break
		}
		calls.Go(func() {
			t := f.call(ctx, n, a.tenant, a.skill, a.runs)
			t.counted = !t.at.Before(from)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, t)
		})
	}
	f.measure(fig)
	calls.Wait()
	cancel()
	watch.Wait()
	fig.sum(all, from, to, failed)
	return fig
}

// cellMemory is what the admission counts for a cell, by the default limits.
const cellMemory = 256 << 20

// look checks now and then what must hold at any time.
func (f *fleet) look(ctx context.Context, fig *Figures) {
	for sleep(ctx, time.Second) == nil {
		if _, over := f.cluster.taken(); over {
			fig.Faults = append(fig.Faults, fmt.Errorf("a node has more cells than places"))
		}
		for i, s := range f.supervisors {
			now := s.Pulse(ctx)
			handed := int(now.Reserved / cellMemory)
			fig.Deepest = max(fig.Deepest, now.Queued)
			ready, starting, leaving := s.pool.Count()
			if ready+starting > f.opts.Pool || handed > f.maxCells {
				fig.Faults = append(fig.Faults, fmt.Errorf("supervisor %d: %d cells wait, %d start and %d go, of %d; %d cells are handed out, of %d",
					i, ready, starting, leaving, f.opts.Pool, handed, f.maxCells))
			}
		}
	}
}

// measure says how full everything was within the window.
func (f *fleet) measure(fig *Figures) {
	worst := func(part func(*supervisor) *gauge) (share float64) {
		for _, s := range f.supervisors {
			share = max(share, part(s).share())
		}
		return share
	}
	fig.Full = []fullness{ // what is further down fills up when something above does
		{partScheduler, f.cluster.scheduler.used.share()},
		{partStore, f.database.writer.used.share()},
		{partAPI, worst(func(s *supervisor) *gauge { return s.driver.api.used })},
		{partProcessors, worst(func(s *supervisor) *gauge { return s.processors.used })},
		{partKubelets, f.cluster.starts.share()},
		{partPlaces, f.cluster.places.share()},
		{partCells, worst(func(s *supervisor) *gauge { return s.cells })},
	}
	warm, cold := 0.0, 0.0
	for _, s := range f.supervisors {
		warm, cold = warm+float64(s.counts.warm.Load()), cold+float64(s.counts.cold.Load())
	}
	fig.Warm = warm / max(1, warm+cold)
}

// full is the share from which on a part counts as what bends.
const full = 0.9

// Bends returns the first part that is full, or the fullest one.
func (g *Figures) Bends() (part string, share float64, bends bool) {
	for _, p := range g.Full {
		if p.share >= full {
			return p.part, p.share, true
		}
	}
	most := slices.MaxFunc(g.Full, func(a, b fullness) int { return cmp.Compare(a.share, b.share) })
	return most.part, most.share, false
}

// sum counts what callers were told.
func (g *Figures) sum(all []told, from, to, failed time.Time) {
	for _, t := range all {
		g.ByTenant[t.tenant] = append(g.ByTenant[t.tenant], t)
		if ended := t.at.Add(t.took); t.why == "" && ended.After(from) && !ended.After(to) {
			g.Within++
		}
		if !t.counted {
			continue
		}
		g.Sent++
		if t.why == "" {
			g.Answered++
			g.First = append(g.First, t.first)
			continue
		}
		g.Why[t.why]++
		if !failed.IsZero() && t.at.Add(t.took).After(failed) {
			g.Sick = max(g.Sick, t.at.Sub(failed))
		}
	}
	slices.Sort(g.First)
}

// Quantile returns one of sorted times.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
