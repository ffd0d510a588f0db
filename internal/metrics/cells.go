package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// cells counts the cells of calls.
type cells struct {
	created   prometheus.Counter
	destroyed prometheus.Counter
	poisoned  prometheus.Gauge
	alive     atomic.Int64 // made − destroyed
}

func (c *cells) init(f factory) {
	c.created = f.counter("hotcell_cells_created_total", "Cells that calls got, made for them or waiting for them.")
	c.destroyed = f.counter("hotcell_cells_destroyed_total", "Cells of calls that were destroyed.")
	c.poisoned = f.gauge("hotcell_cells_poisoned", "Cells that were to be destroyed and live. They keep their share of the host.")
	f.asked("hotcell_cells_open", "Cells of calls that were made and are not destroyed, as counted.", func() float64 { return float64(c.alive.Load()) })
}

// CellCreated counts a cell that a call got.
func (c *cells) CellCreated() {
	c.alive.Add(1)
	c.created.Inc()
}

// CellDestroyed counts a call's cell that was destroyed.
func (c *cells) CellDestroyed() {
	c.alive.Add(-1)
	c.destroyed.Inc()
}

// Poisoned states how many cells will not die.
func (c *cells) Poisoned(n int) { c.poisoned.Set(float64(n)) }

// pool counts what becomes of cells that are started ahead of their calls.
type pool struct {
	leases   *prometheus.CounterVec
	missed   *prometheus.CounterVec
	wasted   *prometheus.CounterVec
	refill   prometheus.Histogram
	whyMiss  words
	whyWaste words
}

func (p *pool) init(f factory) {
	p.whyMiss, p.whyWaste = set("unknown", "empty", "draining"), set("not_made", "not_ready", "died", "outdated")
	p.leases = f.counters("hotcell_leases_total", "Cells that calls got, by whether they had been started ahead (warm) or not (cold).", "cell")
	p.missed = f.counters("hotcell_pool_missed_total",
		"Calls that got no waiting cell, by reason: unknown (none waits with exactly this policy, image and bundle), empty (all of those are taken), draining.", "reason")
	p.wasted = f.counters("hotcell_pool_wasted_total",
		"Cells that were started ahead and that no call could have, by reason: not_made, not_ready, died, outdated (another content of the skill, or the pool was drained).", "reason")
	p.refill = f.histogram("hotcell_pool_refill_duration_seconds", "Time until a cell that was started ahead was ready.", spans())
	for _, cell := range []string{"warm", "cold"} {
		p.leases.WithLabelValues(cell)
	}
	start(p.missed, p.whyMiss)
	start(p.wasted, p.whyWaste)
}

// start has counters with one label there from the start.
func start(vec *prometheus.CounterVec, list words) {
	for w := range list {
		vec.WithLabelValues(w)
	}
}

// Leased counts a cell that a call got.
func (p *pool) Leased(warm bool) {
	if warm {
		p.leases.WithLabelValues("warm").Inc()
	} else {
		p.leases.WithLabelValues("cold").Inc()
	}
}

// Missed counts a call that got no waiting cell.
func (p *pool) Missed(why string) { p.missed.WithLabelValues(p.whyMiss.of(why)).Inc() }

// Wasted counts a cell that was started ahead in vain.
func (p *pool) Wasted(why string) { p.wasted.WithLabelValues(p.whyWaste.of(why)).Inc() }

// Refilled notes how long it took to start a cell ahead.
func (p *pool) Refilled(took time.Duration) { p.refill.Observe(max(took, 0).Seconds()) }

// reaper counts what is cleared away.
type reaper struct {
	removed *prometheus.CounterVec
	sweeps  *prometheus.CounterVec
	last    prometheus.Gauge
	kinds   words
}

func (r *reaper) init(f factory) {
	r.kinds = set("cell", "fill", "cgroup", "volume")
	r.removed = f.counters("hotcell_reaper_removed_total", "Things that were left behind and removed, by kind.", "kind")
	r.sweeps = f.counters("hotcell_reaper_sweeps_total", "Looks for what is left behind, by outcome (ok, failed).", "outcome")
	r.last = f.gauge("hotcell_reaper_last_success_timestamp_seconds", "When a look for what is left behind last found and removed all of it, as Unix time; 0: never.")
	start(r.removed, r.kinds)
	start(r.sweeps, set("ok", "failed"))
}

// Reaped counts something left behind that was removed.
func (r *reaper) Reaped(kind string) { r.removed.WithLabelValues(r.kinds.of(kind)).Inc() }

// Swept counts a look for what is left behind.
func (r *reaper) Swept(ok bool) {
	if !ok {
		r.sweeps.WithLabelValues("failed").Inc()
		return
	}
	r.sweeps.WithLabelValues("ok").Inc()
	r.last.SetToCurrentTime()
}
