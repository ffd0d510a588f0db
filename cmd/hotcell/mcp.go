package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/mcphost"
)

func (a *app) mcpCmd() *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Speak MCP on stdin and stdout: each skill is a tool",
		Long: "Speak MCP on stdin and stdout, as an agent host wants it of a server that it starts: each skill is a tool, the\n" +
			"files of skills and what calls leave behind are resources. Logs go to stderr. The end of stdin kills the calls in\n" +
			"flight, and so do the end of the process that started this one, and a client that reads nothing any more.\n" +
			"SIGTERM lets them end; a second one kills them.",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.mcp(c.Context(), agent) },
	}
	c.Flags().StringVar(&agent, "agent", "", "`NAME` of the agent that the client is: its allowlist applies")
	return c
}

func (a *app) mcp(ctx context.Context, agent string) error {
	if agent != "" && !auth.Name(agent) {
		return usagef("--agent: %s is no name of an agent", oneLine(agent, 60))
	}
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	a.errs = newScreen(heedless(a.stderr), a.getenv)
	log := a.logger(cfg, slog.LevelInfo)
	sys, err := a.open(ctx, cfg, log)
	if err != nil {
		return err
	}
	host, err := mcphost.New(mcphost.Options{
		Handler: sys.supervisor, Catalog: sys.catalog, Control: sys.supervisor, Version: version(embedded).Version, Log: log,
	})
	if err != nil {
		return errors.Join(err, sys.close())
	}
	who := auth.Nobody()
	who.Agent = agent
	a.warnOfStranger(ctx, sys.agents, who.Caller("mcp"))
	a.expects("MCP", "an agent host that starts hotcell")
	bye := newFarewell(os.Getppid, parentEvery)
	defer sys.watched(ctx)()
	signals := a.interruptible(ctx, sys.supervisor, nil, func(ctx context.Context) {
		ctx, stop := bye.watch(ctx, sys.supervisor, log)
		defer stop()
		defer host.Close()
		err = serveDoors(ctx, sys.supervisor, log, func(ctx context.Context) error {
			return host.ServeStdio(ctx, a.stdin, a.stdout, who)
		})
	})
	return errors.Join(killedBy(signals, mcpEnd(err)), sys.close())
}

// mcpEnd gives the end of the one session its exit code.
func mcpEnd(err error) error {
	switch {
	case errors.Is(err, mcphost.ErrStalled), errors.Is(err, io.ErrClosedPipe):
		return silent(exitPipe)
	case errors.Is(err, mcphost.ErrFaults):
		return usagef("%w", err)
	}
	return err
}

// warnOfStranger says that no allowlist applies to the agent that a client is said to be, since nobody made it.
func (a *app) warnOfStranger(ctx context.Context, agents catalog.Agents, who a2e.Caller) {
	if who.Agent == "" || agents == nil {
		return
	}
	_, err := agents.ID(ctx, who, who.Agent)
	var told *catalog.Error
	if errors.As(err, &told) && told.Code == catalog.AgentNotFound {
		a.errs.line("hotcell: warning: there is no agent " + who.Agent + ", so no allowlist applies to it: 'hotcell agents create' makes it")
	}
}

// expects says on a terminal what is spoken there, and by whom: people who start this wait for nothing otherwise.
func (a *app) expects(protocol, by string) {
	if isTerminal(a.stdin) {
		a.errs.line("hotcell: " + protocol + " is spoken here by " + by + ", one message a line; Ctrl-D ends it")
	}
}
