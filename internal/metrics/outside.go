package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hotcell/hotcell/internal/audit"
)

// outside counts what calls used outside of their cells, as the audit is told of it.
type outside struct {
	llm       *prometheus.CounterVec
	tokens    *prometheus.CounterVec
	refusals  *prometheus.CounterVec
	llmTook   *prometheus.HistogramVec
	egress    *prometheus.CounterVec
	moved     *prometheus.CounterVec
	tools     *prometheus.CounterVec
	verdicts  words
	providers *names
	whys      *names
	tooled    *names
}

func (o *outside) init(f factory, providers []string) {
	o.providers, o.whys, o.tooled = newNames(maxNames), newNames(maxNames), newNames(maxNames)
	o.verdicts = set("connected", "refused", "failed")
	o.llm = f.counters("hotcell_llm_requests_total", "Requests for models, by provider and class of the answer's status (2xx, 4xx, 5xx).", "provider", "status")
	o.tokens = f.counters("hotcell_llm_tokens_total", "Tokens of models that were used, by provider and direction (in, out).", "provider", "direction")
	o.refusals = f.counters("hotcell_llm_refusals_total", "Requests for models that hotcell answered itself, by reason; at most 100 of one call.", "reason")
	o.llmTook = f.histograms("hotcell_llm_request_duration_seconds", "Time that requests for models took, by provider.", requests(), "provider")
	o.egress = f.counters("hotcell_egress_connections_total", "Connections to the outside that cells asked for, by verdict (connected, refused by policy, failed).", "verdict")
	o.moved = f.counters("hotcell_egress_bytes_total", "Bytes that cells moved over connections to the outside, by direction (in, out).", "direction")
	o.tools = f.counters("hotcell_tool_uses_total", "Uses of tools of the host by skills, by code (ok, or why not).", "code")
	for _, p := range append(providers, other) {
		name := o.providers.add(p)
		o.llmTook.WithLabelValues(name)
		for _, class := range []string{"2xx", "4xx", "5xx"} {
			o.llm.WithLabelValues(name, class)
		}
		o.tokens.WithLabelValues(name, "in")
		o.tokens.WithLabelValues(name, "out")
	}
	for _, r := range []string{"model", "endpoint", "requests", "tokens", "cost", "bytes", "token", "provider", "credential"} {
		o.refusals.WithLabelValues(o.whys.add(r))
	}
	start(o.egress, o.verdicts)
	start(o.moved, set("in", "out"))
	o.tools.WithLabelValues(o.tooled.add("ok"))
}

// Counting returns a log that counts what is written to it, and hands it on to next.
func (m *Metrics) Counting(next audit.Log) audit.Log { return counting{m, next} }

type counting struct {
	m    *Metrics
	next audit.Log
}

// Write implements [audit.Log].
func (c counting) Write(e audit.Entry) {
	switch e.Kind {
	case "llm.request":
		c.m.asked(e.Data)
	case "egress.connect":
		c.m.reached(e.Data)
	case "tool.call":
		c.m.tools.WithLabelValues(c.m.tooled.add(text(e.Data, "code"))).Inc()
	}
	c.next.Write(e)
}

// Record implements [audit.Recorder], where next does.
func (c counting) Record(ctx context.Context, e audit.Entry) error {
	return audit.Enter(ctx, c.next, e)
}

func (o *outside) asked(data map[string]any) {
	provider := o.providers.add(text(data, "provider"))
	o.llm.WithLabelValues(provider, class(int(number(data, "status")))).Inc()
	o.tokens.WithLabelValues(provider, "in").Add(number(data, "tokens_in"))
	o.tokens.WithLabelValues(provider, "out").Add(number(data, "tokens_out"))
	o.llmTook.WithLabelValues(provider).Observe(number(data, "ms") / 1000)
	if why := text(data, "reason"); why != "" {
		o.refusals.WithLabelValues(o.whys.add(why)).Inc()
	}
}

func (o *outside) reached(data map[string]any) {
	o.egress.WithLabelValues(o.verdicts.of(text(data, "verdict"))).Inc()
	o.moved.WithLabelValues("in").Add(number(data, "bytes_in"))
	o.moved.WithLabelValues("out").Add(number(data, "bytes_out"))
}

func class(status int) string {
	switch {
	case status >= 500:
		return "5xx"
	case status >= 400:
		return "4xx"
	case status >= 200 && status < 300:
		return "2xx"
	}
	return other
}

func text(data map[string]any, key string) string {
	s, _ := data[key].(string)
	return s
}

// number is a count, never below 0.
func number(data map[string]any, key string) float64 {
	switch n := data[key].(type) {
	case int:
		return max(0, float64(n))
	case int64:
		return max(0, float64(n))
	}
	return 0
}
