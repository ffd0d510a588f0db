package host

import (
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/metrics"
)

// openMetrics makes what counts.
func openMetrics(cfg *config.Config, o Options) (*metrics.Registry, *metrics.Metrics) {
	var providers []string
	for _, p := range cfg.LLM.Providers {
		providers = append(providers, p.Name)
	}
	registry := metrics.NewRegistry()
	m := metrics.New(registry, metrics.Options{Providers: providers})
	m.Build(o.Version)
	return registry, m
}
