package metrics

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts. Its methods are safe for concurrent use and return at once.
type Metrics struct {
	calls
	cells
	pool
	reaper
	engine
	outside
	journal
	canary

	reg   prometheus.Registerer
	build *prometheus.GaugeVec
}

// Options shape [Metrics].
type Options struct {
	// Providers are the names of the configured model providers, so that their counters are there from the start.
	Providers []string
}

// New makes the metrics and registers them. It panics when reg has them already: one supervisor, one registry.
func New(reg prometheus.Registerer, o Options) *Metrics {
	m := &Metrics{
		reg: reg,
		build: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "hotcell_build_info", Help: "1, with the version of this program as labels.",
		}, []string{"version", "go_version"}),
	}
	reg.MustRegister(m.build)
	f := factory{reg}
	m.calls.init(f)
	m.cells.init(f)
	m.pool.init(f)
	m.reaper.init(f)
	m.engine.init(f)
	m.outside.init(f, o.Providers)
	m.journal.init(f)
	m.canary.init(f)
	return m
}

// Build states the version of this program.
func (m *Metrics) Build(version string) {
	m.build.Reset()
	m.build.WithLabelValues(label(version), runtime.Version()).Set(1)
}

// observe notes a duration, with the trace that it belongs to where there is one.
func observe(o prometheus.Observer, took time.Duration, trace string) {
	seconds := max(took, 0).Seconds()
	if e, ok := o.(prometheus.ExemplarObserver); ok && trace != "" {
		e.ObserveWithExemplar(seconds, prometheus.Labels{"trace_id": trace})
		return
	}
	o.Observe(seconds)
}

// factory makes metrics and registers them.
type factory struct{ reg prometheus.Registerer }

func (f factory) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	f.reg.MustRegister(c)
	return c
}

func (f factory) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	f.reg.MustRegister(c)
	return c
}

func (f factory) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	f.reg.MustRegister(g)
	return g
}

func (f factory) asked(name, help string, value func() float64) {
	f.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

func (f factory) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	f.reg.MustRegister(h)
	return h
}

func (f factory) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	f.reg.MustRegister(h)
	return h
}

// spans are buckets for durations, from a call of a waiting cell (a tenth of a millisecond and up) to the longest call, in
// seconds.
func spans() []float64 {
	return []float64{
		.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
	}
}

// requests are buckets for durations of single requests, in seconds.
func requests() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120}
}
