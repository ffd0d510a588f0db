package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
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
	custom := auditedCustom{c.Custom()}
	approvals := curator.NewApprovals(curator.ApprovalOptions{
		Store: journal, Custom: custom, Expire: time.Duration(cfg.Approvals.Expire), Delete: cfg.Approvals.Delete, Log: o.Log,
	})
	own := curator.NewHosted(curator.HostedOptions{Reader: c, Custom: custom, Agents: agents, Approvals: approvals})
	c.Gate, c.Plugins = agents, []a2e.Plugin{own}
	for _, p := range o.Plugins {
		c.Plugins = append(c.Plugins, guard(p, o.Log))
	}
	return &Catalog{
		Reader: c, Custom: custom, Agents: auditedAgents{agents}, Approvals: auditedApprovals{approvals},
		shelf: c, plugins: slices.Concat([]a2e.Plugin{own}, o.Plugins),
	}
}

// How long somebody else's plugin may take to list its skills, and how many lists may be under way, half of them a principal's. As with the supervisor.
const (
	listLimit = 5 * time.Second
	mostLists = 256
)

// guarded is a plugin of somebody else's whose faults cost its own skills and no others.
type guarded struct {
	a2e.Plugin
	log   *slog.Logger
	limit time.Duration
	room  *auth.Shares // one for each list that is under way
}

func guard(p a2e.Plugin, log *slog.Logger) *guarded {
	return &guarded{Plugin: p, log: log, limit: listLimit, room: auth.NewShares(mostLists, mostLists/2)}
}

// ListSkills implements [a2e.Plugin]: nothing where the plugin fails, or takes too long.
func (g *guarded) ListSkills(ctx context.Context, who a2e.Caller) ([]a2e.Definition, error) {
	defs, err := g.list(ctx, who)
	if err != nil {
		g.log.Error("a plugin's skills can't be listed", "error", err)
		return nil, nil
	}
	return defs, nil
}

func (g *guarded) list(ctx context.Context, who a2e.Caller) ([]a2e.Definition, error) {
	leave, ok := g.room.Take(who.Principal, 1)
	if !ok {
		return nil, fmt.Errorf("%d lists are under way already, or %d for this caller", mostLists, mostLists/2)
	}
	ctx, cancel := context.WithTimeout(ctx, g.limit)
	defer cancel()
	done := make(chan struct{})
	var listed []a2e.Definition
	failed := errors.New("its code broke off without an answer") // stands where it ends its goroutine instead of returning
	go func() {                                                  // nobody can end code that does not want to: who enters it waits as long as may be
		defer func() { leave(); close(done) }()
		defer func() {
			if r := recover(); r != nil {
				failed = fmt.Errorf("it panicked: %v\n%s", r, debug.Stack())
			}
		}()
		listed, failed = g.Plugin.ListSkills(ctx, who)
	}()
	select {
	case <-done:
		return listed, failed
	case <-ctx.Done():
		return nil, fmt.Errorf("it did not answer: %w", ctx.Err())
	}
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
