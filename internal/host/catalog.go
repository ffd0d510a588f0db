package host

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/curator"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/store"
	"github.com/hotcell/hotcell/internal/tools"
)

// Catalog is what front doors see of skills, agents and approvals, and what serves the catalog's own skills.
type Catalog struct {
	Reader    catalog.Reader
	Custom    catalog.Custom
	Agents    catalog.Agents
	Approvals catalog.Approvals

	shelf   skills.Shelf
	plugins []a2e.Plugin
}

// openCatalog wires the catalog over what the library has and what the store keeps.
func openCatalog(cfg *config.Config, o Options, lib *skills.Library, box *tools.Box, journal *store.Store) *Catalog {
	agents := curator.NewAgents(journal, box.Offer)
	c := curator.New(curator.Config{Shipped: lib, Store: journal, Tools: box, Code: cfg.Policy.Custom.Code, Log: o.Log})
	approvals := curator.NewApprovals(curator.ApprovalOptions{
		Store: journal, Custom: c.Custom(), Expire: time.Duration(cfg.Approvals.Expire), Delete: cfg.Approvals.Delete, Log: o.Log,
	})
	own := curator.NewHosted(curator.HostedOptions{Reader: c, Custom: c.Custom(), Agents: agents, Approvals: approvals})
	c.Gate, c.Plugins = agents, []a2e.Plugin{own}
	for _, p := range o.Plugins {
		c.Plugins = append(c.Plugins, &guarded{p, o.Log})
	}
	return &Catalog{
		Reader: c, Custom: c.Custom(), Agents: agents, Approvals: approvals,
		shelf: c, plugins: slices.Concat([]a2e.Plugin{own}, o.Plugins),
	}
}

// guarded is a plugin of somebody else's whose faults cost its own skills and no others.
type guarded struct {
	a2e.Plugin
	log *slog.Logger
}

// ListSkills implements [a2e.Plugin]: nothing where the plugin fails.
func (g *guarded) ListSkills(ctx context.Context, who a2e.Caller) (defs []a2e.Definition, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v\n%s", r, debug.Stack())
		}
		if err != nil {
			g.log.Error("a plugin's skills can't be listed", "error", err)
			defs, err = nil, nil
		}
	}()
	return g.Plugin.ListSkills(ctx, who)
}

// A slice of time is the same for who counts what principals use and for who keeps it.
var _ = [1]struct{}{}[admission.Slice-store.SpentSlice]

// Desk is the catalog for an operator's own commands, beside the daemons that have the same data folder. Its owner closes it.
type Desk struct {
	*Catalog
	Store *store.Store
	Close func() error
}

// OpenDesk opens the catalog without a supervisor. No engine is asked, and no server of tools.
func OpenDesk(ctx context.Context, cfg *config.Config, log *slog.Logger) (*Desk, error) {
	if err := DataFolder(cfg.DataDir); err != nil {
		return nil, err
	}
	box := Toolbox(cfg, log)
	lib, err := Library(cfg, box, log)
	if err != nil {
		box.Close()
		return nil, &ConfigError{err}
	}
	journal, err := OpenJournal(ctx, cfg, log)
	if err != nil {
		box.Close()
		return nil, err
	}
	return &Desk{
		Catalog: openCatalog(cfg, Options{Log: log}, lib, box, journal), Store: journal,
		Close: func() error { box.Close(); return journal.Close() },
	}, nil
}
