package metrics

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts. Its methods are safe for concurrent use and return at once.
type Metrics struct {
	accepted  prometheus.Counter
	calls     *prometheus.CounterVec
	phases    *prometheus.HistogramVec
	created   prometheus.Counter
	destroyed prometheus.Counter
	leases    *prometheus.CounterVec
	waiting   prometheus.Gauge
	queue     prometheus.Gauge
	inFlight  prometheus.Gauge
	build     *prometheus.GaugeVec

	skills  *names
	codes   map[string]bool
	reasons map[string]bool
	known   map[string]bool // phases
}

// buckets reach from a warm cell to the longest call, in seconds.
func buckets() []float64 {
	return []float64{
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
	}
}

// New makes the metrics and registers them. It panics when reg has them already: one supervisor, one registry.
func New(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		accepted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hotcell_calls_accepted_total", Help: "Calls that were accepted.",
		}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hotcell_calls_total", Help: "Calls that ended, by skill, code (ok, or an A2E error code) and reason.",
		}, []string{"skill", "code", "reason"}),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hotcell_phase_duration_seconds", Help: "Time that calls spent in each phase.", Buckets: buckets(),
		}, []string{"phase"}),
		created: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hotcell_cells_created_total", Help: "Cells that were made.",
		}),
		destroyed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hotcell_cells_destroyed_total", Help: "Cells that were destroyed.",
		}),
		leases: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hotcell_leases_total", Help: "Cells that calls got, by whether they had been started ahead (warm) or not (cold).",
		}, []string{"cell"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hotcell_pool_cells", Help: "Cells that were started ahead and wait for a call, or are on their way to or from that.",
		}),
		queue: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hotcell_queue_depth", Help: "Calls that wait to be admitted.",
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hotcell_calls_in_flight", Help: "Calls that were accepted and have not ended, those that wait included.",
		}),
		build: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "hotcell_build_info", Help: "1, with the version of this program as labels.",
		}, []string{"version", "go_version"}),
		skills: newNames(maxSkills), codes: codes(), reasons: reasons(), known: phases(),
	}
	reg.MustRegister(m.accepted, m.calls, m.phases, m.created, m.destroyed, m.leases, m.waiting, m.queue, m.inFlight, m.build)
	for phase := range m.known {
		m.phases.WithLabelValues(phase) // so that a rate is there from the start
	}
	m.leases.WithLabelValues("warm")
	m.leases.WithLabelValues("cold")
	return m
}

// Build states the version of this program.
func (m *Metrics) Build(version string) {
	m.build.Reset()
	m.build.WithLabelValues(label(version), runtime.Version()).Set(1)
}

// CallAccepted counts a call. The skill's name is not looked at: it has proved nothing yet.
func (m *Metrics) CallAccepted(string) { m.accepted.Inc() }

// CallEnded counts the end of a call; code is "ok" after success, reason may be empty.
func (m *Metrics) CallEnded(skill, code, reason string) {
	code = among(m.codes, code)
	m.calls.WithLabelValues(m.skill(skill, code), code, among(m.reasons, reason)).Inc()
}

// skill gives a name a label. A call that found no skill, or none that its message could name, gets no new one, so that
// made-up names don't crowd out the real ones.
func (m *Metrics) skill(name, code string) string {
	if !proved(code) {
		return m.skills.find(name)
	}
	return m.skills.add(name)
}

// Phase counts the time that a call spent in queue, prepare, start, run or teardown.
func (m *Metrics) Phase(phase string, took time.Duration) {
	m.phases.WithLabelValues(among(m.known, phase)).Observe(max(took, 0).Seconds())
}

// CellCreated counts a cell that was made.
func (m *Metrics) CellCreated() { m.created.Inc() }

// CellDestroyed counts a cell that was destroyed.
func (m *Metrics) CellDestroyed() { m.destroyed.Inc() }

// Leased counts a cell that a call got.
func (m *Metrics) Leased(warm bool) {
	if warm {
		m.leases.WithLabelValues("warm").Inc()
	} else {
		m.leases.WithLabelValues("cold").Inc()
	}
}

// Waiting states how many cells wait for a call.
func (m *Metrics) Waiting(n int) { m.waiting.Set(float64(n)) }

// QueueDepth states how many calls wait.
func (m *Metrics) QueueDepth(n int) { m.queue.Set(float64(n)) }

// InFlight states how many calls are under way.
func (m *Metrics) InFlight(n int) { m.inFlight.Set(float64(n)) }
