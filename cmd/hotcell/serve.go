package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/a2ehost"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/front"
	"github.com/hotcell/hotcell/internal/rest"
	"github.com/hotcell/hotcell/sandbox"
)

const (
	probeLimit = 5 * time.Second // for the engine to answer at the start
	socketMode = 0o660
)

// settleAfter is when memory is given back, counted from the ready line: what begins with the doors has begun by then, and the
// sweeps that follow a start are over.
var settleAfter = []time.Duration{time.Second, 10 * time.Second}

func (a *app) serveCmd() *cobra.Command {
	var socket, listen string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon: REST, MCP, A2A and A2E over HTTP, A2E on a unix socket",
		Long: "Run the daemon. Over HTTP it speaks REST (/v1, /api/v1, described at /docs and /openapi.json), MCP (/mcp), A2A (/a2a,\n" +
			"with /.well-known/agent-card.json) and A2E (/session, /send, /stream), and has a web console (/console), /metrics,\n" +
			"/healthz and /readyz; on a unix socket it speaks A2E.\n\n" +
			"SIGTERM and Ctrl-C stop it once the calls in flight have ended, at most a minute later; a second one kills them.\n" +
			"SIGHUP changes nothing: skills are read again by themselves when they change, the configuration only at a restart.",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			overrides := map[string]any{}
			if socket != "" {
				overrides["socket"] = socket
			}
			if listen != "" {
				overrides["listen"] = listen
			}
			return a.serve(c.Context(), overrides)
		},
	}
	c.Flags().StringVar(&socket, "socket", "", "`PATH` of the unix socket (default: the configuration's socket)")
	c.Flags().StringVar(&listen, "listen", "", "`ADDRESS` of HTTP, on loopback unless auth.mode is token or oidc (default: the configuration's listen)")
	return c
}

func (a *app) serve(ctx context.Context, overrides map[string]any) error {
	cfg, _, err := a.settingsWith(overrides)
	if err != nil {
		return err
	}
	if cfg.Admin.Listen == "" {
		unsampled()
	}
	log := a.logger(cfg, slog.LevelInfo)
	sys, err := a.open(ctx, cfg, log)
	if err != nil {
		return err
	}
	if err := checkEngine(ctx, sys); err != nil {
		return errors.Join(err, sys.close())
	}
	hangUp := func() {
		log.Info("SIGHUP: nothing to reload: skills are read again by themselves, the configuration at a restart")
	}
	defer sys.watched(ctx)()
	ctx, fenced := fence(ctx, sys)
	defer fenced()
	signals := a.interruptible(ctx, sys.supervisor, hangUp, func(ctx context.Context) { err = a.daemonDoors(ctx, sys, cfg, log) })
	return errors.Join(killedBy(signals, err), whyFenced(ctx), sys.close())
}

// daemonDoors listens, says so, and serves until ctx ends.
func (a *app) daemonDoors(ctx context.Context, sys *system, cfg *config.Config, log *slog.Logger) error {
	host, err := a2ehost.New(a2ehost.Options{
		Handler: sys.supervisor, Auth: sys.auth, Door: "socket", Version: version(embedded).Version, ErrorsAs: cfg.A2E.Errors, Log: log,
	})
	if err != nil {
		return err
	}
	remote, err := front.New(front.Options{
		Config: cfg, Supervisor: sys.supervisor, Auth: sys.auth, Hosts: hostNames(cfg), Metrics: sys.metrics, Version: version(embedded).Version, Log: log,
		Reader: sys.catalog, Custom: sys.custom, Agents: sys.agents, Approvals: sys.approvals, Installer: sys.installer, Audit: sys.audit,
		Book: sys.book, Pulse: sys.pulse, Explain: sys.explain, Images: sys.images, Doctor: examiner{a.gather, cfg, a.logger(cfg, slog.LevelError)}, Ready: sys.ready(ctx),
	})
	if err != nil {
		return err
	}
	web, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return listenError(cfg.Listen, "--listen", err)
	}
	local, err := a2ehost.Listen(cfg.Socket, socketMode)
	if err != nil {
		return errors.Join(listenError(cfg.Socket, "--socket", err), web.Close())
	}
	admin, err := a.adminDoor(ctx, sys, cfg, log)
	if err != nil {
		return errors.Join(err, web.Close(), local.Close())
	}
	warnOfExposure(cfg, log)
	probeEngine(ctx, sys, log)
	a.errs.line(fmt.Sprintf("hotcell: ready: http://%s and %s", web.Addr(), cfg.Socket))
	if remote.Console() {
		a.errs.line(fmt.Sprintf("hotcell: console at http://%s/console", web.Addr()))
	}
	for _, after := range settleAfter {
		defer time.AfterFunc(after, settle).Stop()
	}
	defer sys.sing(ctx)()
	return serveDoors(ctx, sys.supervisor, log, append(admin,
		func(ctx context.Context) error { return rest.Serve(ctx, web, remote, log) },
		func(ctx context.Context) error { return host.ServeSocket(ctx, local) },
		remote.Run,
	)...)
}

// listenError is one line that says what can't be listened at and why, and which flag names another place. A socket's own
// error says what to do.
func listenError(what, flag string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("can't listen at %s: %w: stop what is there, or choose another with %s", what, err, flag)
	}
	return fmt.Errorf("can't listen at %s: %w (%s)", what, err, flag)
}

// checkEngine refuses to start where what keeps cells within bounds is known to be missing. An engine that does not answer is
// no reason: what is made on it is checked once it does.
func checkEngine(ctx context.Context, sys *system) error {
	if sys.check == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	if err := sys.check(ctx); errors.Is(err, sandbox.ErrUnsupported) {
		return err
	}
	return nil
}

// probeEngine warns of an engine that does not answer. The daemon starts all the same: it may come later, and /readyz
// tells.
func probeEngine(ctx context.Context, sys *system, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	if err := sys.probe(ctx); err != nil {
		log.Warn("no engine answers yet: calls fail until one does", "error", plainEngine(err.Error()))
	}
}
