package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/rest"
)

// adminDoor opens the listener for those who run hotcell, where the configuration has one.
func (a *app) adminDoor(ctx context.Context, sys *system, cfg *config.Config, log *slog.Logger) ([]door, error) {
	if cfg.Admin.Listen == "" {
		return nil, nil
	}
	ln, err := net.Listen("tcp", cfg.Admin.Listen)
	if err != nil {
		return nil, listenError(cfg.Admin.Listen, "admin.listen", err)
	}
	handler := rest.NewAdmin(rest.Options{
		Auth: sys.auth, Hosts: hostNames(cfg), Metrics: sys.metrics, Log: log, Version: version(embedded).Version, Ready: sys.ready(ctx),
	})
	a.errs.line(fmt.Sprintf("hotcell: metrics and profiles: http://%s", ln.Addr()))
	return []door{func(ctx context.Context) error { return rest.Serve(ctx, ln, handler, log) }}, nil
}

// ready tells whether calls can be served: it is not stopping, the journal can be written, the engine answers and makes
// cells. ctx ends when the daemon is to stop.
func (s *system) ready(ctx context.Context) func(context.Context) error {
	return func(c context.Context) error {
		if ctx.Err() != nil {
			return errors.New("stopping")
		}
		if s.journalled != nil {
			if err := s.journalled(); err != nil {
				return err
			}
		}
		if err := s.probe(c); err != nil || s.canary.ready == nil {
			return plainly(err)
		}
		return s.canary.ready(c)
	}
}

// sing runs the canary until ctx ends or stop is called, which waits until its last cell is gone.
func (s *system) sing(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	if s.canary.run != nil {
		group.Go(func() { s.canary.run(ctx) })
	}
	return func() {
		cancel()
		group.Wait()
	}
}
