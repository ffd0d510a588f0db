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

// builtIn is the folder that `make build` fills: for amd64 and arm64 hotcell-runner-ARCH, and hotcell-engine-ARCH.gz.
//
//go:embed all:embed
var builtIn embed.FS

// embedded holds these files by their names. A plain `go build` leaves it empty, and such a hotcell says so when it needs one
// of them.
var embedded = func() fs.FS {
	sub, err := fs.Sub(builtIn, "embed")
	if err != nil {
		return builtIn // the folder's name is valid
	}
	return sub
}()

// open wires a supervisor from the configuration. No engine is asked yet.
func open(ctx context.Context, cfg *config.Config, log *slog.Logger) (*system, error) {
	sys, err := host.Open(ctx, cfg, host.Options{Programs: embedded, Version: version(embedded).Version, Log: log})
	var bad *host.ConfigError
	if errors.As(err, &bad) {
		return nil, usagef("%w", err)
	}
	if err != nil {
		return nil, err
	}
	var bird canary
	if c := sys.Canary; c != nil {
		bird = canary{run: c.Run, ready: c.Ready}
	}
	return &system{
		canary:  bird,
		catalog: sys.Catalog.Reader, custom: sys.Catalog.Custom, agents: sys.Catalog.Agents, approvals: sys.Catalog.Approvals,
		skills: sys.Skills, watch: sys.Watch, supervisor: sys.Supervisor, book: sys.Supervisor, pulse: sys.Supervisor, metrics: sys.Metrics, auth: sys.Auth,
		installer: sys.Installer, audit: sys.Audit, explain: sys.Explain, images: sys.Images, probe: sys.Probe, check: sys.Check, journalled: sys.Journalled, lost: sys.Lost, close: sys.Close,
	}, nil
}
