package front

import (
	"context"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/mcphost"
	"github.com/hotcell/hotcell/internal/rest"
)

// mcpDoor is MCP as one of the daemon's doors.
type mcpDoor struct{ host *mcphost.Host }

// mcpOverHTTP is the door of MCP's streamable HTTP transport. It is to be served, and mounted on the listener.
func mcpOverHTTP(o Options) (mcpDoor, error) {
	if o.Reader == nil {
		return mcpDoor{}, nil
	}
	host, err := mcphost.New(mcphost.Options{Handler: o.Supervisor, Catalog: o.Reader, Control: o.Supervisor, Version: o.Version, Log: o.Log})
	return mcpDoor{host}, err
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
