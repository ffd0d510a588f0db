package main

import (
	"context"
	"log/slog"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/mcphost"
	"github.com/hotcell/hotcell/internal/rest"
)

// mcpDoor is MCP as one of the daemon's doors.
type mcpDoor struct{ host *mcphost.Host }

// mcpOverHTTP is the door of MCP's streamable HTTP transport. It is to be served, and mounted on the listener.
func mcpOverHTTP(sys *system, log *slog.Logger) (mcpDoor, error) {
	if sys.catalog == nil {
		return mcpDoor{}, nil
	}
	host, err := newMCPHost(sys, log)
	return mcpDoor{host}, err
}

func newMCPHost(sys *system, log *slog.Logger) (*mcphost.Host, error) {
	return mcphost.New(mcphost.Options{
		Handler: sys.supervisor, Catalog: sys.catalog, Control: sys.supervisor, Version: version(embedded).Version, Log: log,
	})
}

func (d mcpDoor) mounts() []rest.Mount {
	if d.host == nil {
		return nil
	}
	return []rest.Mount{{Patterns: mcphost.Patterns(), Scope: auth.Calls, MaxBody: mcphost.MaxBody, Handler: d.host}}
}

// serve ends the sessions when ctx ends.
func (d mcpDoor) serve(ctx context.Context) error {
	if d.host == nil {
		<-ctx.Done()
		return nil
	}
	return d.host.Run(ctx)
}
