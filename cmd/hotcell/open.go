package main

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
)

// embedded holds what `make build` put there: for amd64 and arm64 hotcell-runner-ARCH, and hotcell-engine-ARCH.gz. A plain
// `go build` leaves it empty, and such a hotcell says so when it needs one of them.
//
//go:embed all:embed
var embedded embed.FS

// programs are what is embedded, by name.
func programs() fs.FS {
	sub, err := fs.Sub(embedded, "embed")
	if err != nil {
		return embedded // the folder's name is valid
	}
	return sub
}

// open wires a supervisor from the configuration. No engine is asked yet.
func open(ctx context.Context, cfg *config.Config, log *slog.Logger) (*system, error) {
	sys, err := host.Open(ctx, cfg, host.Options{Programs: programs(), Version: version(programs()).Version, Log: log})
	var bad *host.ConfigError
	if errors.As(err, &bad) {
		return nil, usagef("%w", err)
	}
	if err != nil {
		return nil, err
	}
	return &system{
		skills: sys.Skills, watch: sys.Watch, supervisor: sys.Supervisor, metrics: sys.Metrics, auth: sys.Auth,
		probe: sys.Probe, journalled: sys.Journalled, close: sys.Close,
	}, nil
}
