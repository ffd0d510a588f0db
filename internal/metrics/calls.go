package metrics

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hotcell/hotcell/internal/control"
)

// Custom is what all custom skills count as: their names are their owners' business, and as many as they like.
const Custom = "custom"

// calls counts calls, from their acceptance to their end.
type calls struct {
	accepted *prometheus.CounterVec
	ended    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	phase    map[string]prometheus.Observer
	images   map[string]prometheus.Observer
	queue    prometheus.Gauge
	inFlight prometheus.Gauge
	open     atomic.Int64 // accepted − ended

	memory *prometheus.HistogramVec
	cpu    *prometheus.HistogramVec

	events, bytes, dropped, truncated, undelivered prometheus.Counter

	skills  *names
	codes   words
	reasons words
	doors   words
}

const mebibyte = 1 << 20

func (c *calls) init(f factory) {
	c.skills, c.codes, c.reasons, c.doors = newNames(maxSkills), codes(), reasons(), doors()
	c.accepted = f.counters("hotcell_calls_accepted_total", "Calls that were accepted, by door.", "door")
	c.ended = f.counters("hotcell_calls_total", "Calls that ended, by skill (custom: any custom skill; none: no skill was found), code (ok, or an A2E error code), reason and door.",
		"skill", "code", "reason", "door")
	c.duration = f.histograms("hotcell_call_duration_seconds", "Time from a call's acceptance to its answer, by code.", spans(), "code")
	c.duration.WithLabelValues("ok")
	phase := f.histograms("hotcell_phase_duration_seconds",
		"Time that calls spent in each phase: queue, prepare, lease (of a cell that waited) or start (of one of their own), run, teardown.", spans(), "phase")
	c.phase = children(phase, phases())
	images := f.histograms("hotcell_image_resolve_duration_seconds", "Time until a call had its image, by outcome; a pull is part of it.", spans(), "outcome")
	c.images = children(images, set("ok", "unavailable", "engine_unavailable", "cancelled"))
	c.queue = f.gauge("hotcell_queue_depth", "Calls that wait to be admitted.")
	c.inFlight = f.gauge("hotcell_calls_in_flight", "Calls that were accepted and have not ended, those that wait included, as the supervisor knows them.")
	f.asked("hotcell_calls_open", "Calls accepted less calls ended, as counted: other than hotcell_calls_in_flight for long, a call was lost.",
		func() float64 { return float64(c.open.Load()) })
	c.memory = f.histograms("hotcell_call_memory_peak_bytes", "Most memory that a call's cell used, by skill.",
		[]float64{4 * mebibyte, 16 * mebibyte, 32 * mebibyte, 64 * mebibyte, 128 * mebibyte, 256 * mebibyte, 512 * mebibyte, 1024 * mebibyte, 4096 * mebibyte}, "skill")
	c.cpu = f.histograms("hotcell_call_cpu_seconds", "Processor time that a call's cell used, by skill.",
		[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600}, "skill")
	c.events = f.counter("hotcell_relay_events_total", "Events of cells that were relayed.")
	c.bytes = f.counter("hotcell_relay_bytes_total", "Bytes that cells wrote and the relay read.")
	c.dropped = f.counter("hotcell_relay_dropped_total", "Lines of cells that were dropped, since their call had used up a budget.")
	c.undelivered = f.counter("hotcell_relay_undelivered_total", "Events that a call's listener did not take: it hung up, or was too slow. They are journalled all the same.")
	c.truncated = f.counter("hotcell_relay_truncated_total", "Lines of cells that were longer than allowed and were cut.")
}

// children are a histogram's, for each word and for others.
func children(vec *prometheus.HistogramVec, list words) map[string]prometheus.Observer {
	all := map[string]prometheus.Observer{other: vec.WithLabelValues(other)}
	for w := range list {
		all[w] = vec.WithLabelValues(w) // so that a rate is there from the start
	}
	return all
}

func child(all map[string]prometheus.Observer, word string) prometheus.Observer {
	if o := all[word]; o != nil {
		return o
	}
	return all[other]
}

// CallAccepted counts a call.
func (c *calls) CallAccepted(door string) {
	c.open.Add(1)
	c.accepted.WithLabelValues(c.doors.of(door)).Inc()
}

// CallEnded counts the end of a call and what it used. The skill is the one that was found, "" where none was: what callers
// write into a message is no label.
func (c *calls) CallEnded(skill string, end control.Call, trace string) {
	c.open.Add(-1)
	code := c.codes.of(cmp.Or(string(end.Code), "ok"))
	name := none
	if skill != "" {
		name = c.skills.add(skill)
	}
	c.ended.WithLabelValues(name, code, c.reasons.of(end.Reason), c.doors.of(end.Door)).Inc()
	observe(c.duration.WithLabelValues(code), end.Ended.Sub(end.Accepted), trace)
	if u := end.Usage; u != nil {
		if u.MemoryPeakBytes > 0 {
			c.memory.WithLabelValues(name).Observe(float64(u.MemoryPeakBytes))
		}
		c.cpu.WithLabelValues(name).Observe(float64(u.CPUMS) / 1000)
	}
}

// Phase notes the time that a call spent in queue, prepare, lease, start, run or teardown.
func (c *calls) Phase(phase string, took time.Duration, trace string) {
	observe(child(c.phase, phase), took, trace)
}

// Resolved notes how long a call waited for its image; the outcome is ok, or why it has none.
func (c *calls) Resolved(outcome string, took time.Duration) {
	observe(child(c.images, outcome), took, "")
}

// Relayed counts what came out of one cell.
func (c *calls) Relayed(events int, bytes int64, dropped, truncated int) {
	c.events.Add(float64(events))
	c.bytes.Add(float64(bytes))
	c.dropped.Add(float64(dropped))
	c.truncated.Add(float64(truncated))
}

// Undelivered counts events that a listener did not take.
func (c *calls) Undelivered(events int) { c.undelivered.Add(float64(events)) }

// QueueDepth states how many calls wait.
func (c *calls) QueueDepth(n int) { c.queue.Set(float64(n)) }

// InFlight states how many calls are under way.
func (c *calls) InFlight(n int) { c.inFlight.Set(float64(n)) }
