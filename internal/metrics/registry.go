package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	maxScrapes    = 4 // at once
	scrapeTimeout = 10 * time.Second
)

// Registry holds metrics and serves them. It is a [prometheus.Registerer].
type Registry struct{ *prometheus.Registry }

// NewRegistry returns a registry of its own, with the Go runtime's and this process's metrics in it.
func NewRegistry() *Registry {
	r := &Registry{prometheus.NewRegistry()}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Handler answers scrapes.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.Registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout, EnableOpenMetrics: true})
}
