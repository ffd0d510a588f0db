package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// engine counts requests to the engine that makes cells.
type engine struct {
	took   map[string]prometheus.Observer
	errors *prometheus.CounterVec
	ops    words
	faults words
}

func (e *engine) init(f factory) {
	e.ops = set("ping", "version", "info", "disk_usage", "container_create", "container_start", "container_wait", "container_attach", "container_inspect",
		"container_kill", "container_remove", "container_list", "container_copy", "volume_inspect", "volume_list", "volume_remove",
		"image_inspect", "image_list", "image_pull", "image_load", "image_remove", "runtime_create", "runtime_start")
	e.faults = set("not_found", "conflict", "refused", "engine", "unreachable", "timeout")
	vec := f.histograms("hotcell_engine_request_duration_seconds", "Time until the engine answered a request, by operation.", requests(), "operation")
	e.took = children(vec, e.ops)
	e.errors = f.counters("hotcell_engine_errors_total",
		"Requests to the engine that failed, by operation and error: not_found, conflict, refused (other answers of 400 to 499), engine (answers of 500 and up), unreachable, timeout. "+
			"Those that hotcell itself broke off don't count.",
		"operation", "error")
	for op := range e.ops {
		for fault := range e.faults {
			e.errors.WithLabelValues(op, fault)
		}
	}
}

// Asked notes a request to the engine; fault is "" for one that it answered well.
func (e *engine) Asked(operation, fault string, took time.Duration) {
	child(e.took, operation).Observe(max(took, 0).Seconds())
	if fault != "" {
		e.errors.WithLabelValues(e.ops.of(operation), e.faults.of(fault)).Inc()
	}
}
