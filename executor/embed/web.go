package embed

import (
	"context"

	"github.com/hotcell/hotcell/internal/front"
	"github.com/hotcell/hotcell/internal/host"
)

// openWeb makes the doors that share one HTTP listener.
func (h *Host) openWeb() (*front.Web, error) {
	return front.New(front.Options{
		Config: h.cfg, Supervisor: h.sys.Supervisor, Auth: h.sys.Auth, Hosts: host.HostNames(h.cfg), Metrics: h.sys.Metrics, Version: h.version, Log: h.log,
		Reader: h.sys.Catalog.Reader, Custom: h.sys.Catalog.Custom, Agents: h.sys.Catalog.Agents, Approvals: h.sys.Catalog.Approvals,
		Installer: h.sys.Installer,
		Ready: func(ctx context.Context) error {
			if err := h.sys.Journalled(); err != nil {
				return err
			}
			return h.sys.Probe(ctx)
		},
	})
}
