package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// journal counts what the store writes.
type journal struct {
	took   prometheus.Histogram
	failed prometheus.Counter
	lost   prometheus.Counter
}

func (j *journal) init(f factory) {
	j.took = f.histogram("hotcell_store_write_duration_seconds", "Time that transactions of the journal took.", requests())
	j.failed = f.counter("hotcell_store_write_errors_total", "Transactions of the journal that failed.")
	j.lost = f.counter("hotcell_store_lost_total", "Events and audit entries that were not journalled.")
}

// Wrote notes a transaction.
func (j *journal) Wrote(took time.Duration, err error) {
	j.took.Observe(max(took, 0).Seconds())
	if err != nil {
		j.failed.Inc()
	}
}

// Lost counts what was not journalled.
func (j *journal) Lost(n int) { j.lost.Add(float64(n)) }

// canary counts the calls that hotcell makes to see whether it works.
type canary struct {
	first sync.Once // they are registered when a canary begins: where there is no canary, there is no readiness to tell
	reg   factory

	runs  *prometheus.CounterVec
	took  prometheus.Histogram
	last  prometheus.Gauge
	ready prometheus.Gauge
}

func (c *canary) init(f factory) { c.reg = f }

func (c *canary) begin() {
	f := c.reg
	c.runs = f.counters("hotcell_canary_runs_total", "Canary cells, by outcome (ok, failed).", "outcome")
	c.took = f.histogram("hotcell_canary_duration_seconds", "Time from the beginning of a canary cell until it was gone.", spans())
	c.last = f.gauge("hotcell_canary_last_success_timestamp_seconds", "When a canary cell last did what it should, as Unix time; 0: never.")
	c.ready = f.gauge("hotcell_ready", "1 while the canary says that cells can be made, 0 while it does not.")
	start(c.runs, set("ok", "failed"))
}

// Sang notes a canary cell.
func (c *canary) Sang(ok bool, took time.Duration) {
	c.first.Do(c.begin)
	if !ok {
		c.runs.WithLabelValues("failed").Inc()
		return
	}
	c.runs.WithLabelValues("ok").Inc()
	c.took.Observe(max(took, 0).Seconds())
	c.last.SetToCurrentTime()
}

// Ready states what the canary says.
func (c *canary) Ready(yes bool) {
	c.first.Do(c.begin)
	value := 0.0
	if yes {
		value = 1
	}
	c.ready.Set(value)
}

// Gauges are asked at each scrape. They must answer at once; one that is nil is absent.
type Gauges struct {
	Pool    func() (ready, starting, leaving int) // cells that were started ahead
	Backlog func() (changes, bytes int)           // that wait for the journal
	Size    func() int64                          // bytes of the journal's files
}

// Ask registers gauges.
func (m *Metrics) Ask(g Gauges) {
	f := factory{m.reg}
	if g.Pool != nil {
		m.reg.MustRegister(pooled{g.Pool})
	}
	if g.Backlog != nil {
		f.asked("hotcell_store_queue_length", "Changes that wait for the journal.", func() float64 { n, _ := g.Backlog(); return float64(n) })
		f.asked("hotcell_store_queue_bytes", "Bytes of events and audit entries that wait for the journal.", func() float64 { _, n := g.Backlog(); return float64(n) })
	}
	if g.Size != nil {
		f.asked("hotcell_store_size_bytes", "Bytes of the journal's files.", func() float64 { return float64(g.Size()) })
	}
}

// pooled collects the states of the pool's cells, all from one look.
type pooled struct {
	look func() (ready, starting, leaving int)
}

var pooledDesc = prometheus.NewDesc("hotcell_pool_cells",
	"Cells that were started ahead of their calls, by state: ready, starting, leaving (being destroyed).", []string{"state"}, nil)

// Describe implements [prometheus.Collector].
func (p pooled) Describe(ch chan<- *prometheus.Desc) { ch <- pooledDesc }

// Collect implements [prometheus.Collector].
func (p pooled) Collect(ch chan<- prometheus.Metric) {
	ready, starting, leaving := p.look()
	for state, n := range map[string]int{"ready": ready, "starting": starting, "leaving": leaving} {
		ch <- prometheus.MustNewConstMetric(pooledDesc, prometheus.GaugeValue, float64(n), state)
	}
}
