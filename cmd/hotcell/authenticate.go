package main

import (
	"log/slog"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
)

// hostNames is what a Host header may name.
func hostNames(cfg *config.Config) []string { return host.HostNames(cfg) }

// warnOfExposure tells an operator that what listens elsewhere speaks plain HTTP.
func warnOfExposure(cfg *config.Config, log *slog.Logger) {
	if cfg.Exposed() {
		log.Warn("HTTP is not on loopback, and tokens travel as they are: put a proxy that speaks TLS in front of it", "listen", cfg.Listen)
	}
}
