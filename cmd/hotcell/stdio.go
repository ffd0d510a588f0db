package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/a2ehost"
)

func (a *app) stdioCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "stdio",
		Short: "Speak A2E on stdin and stdout",
		Long: "Speak A2E on stdin and stdout: one JSON message a line, logs on stderr. The end of stdin and SIGTERM stop it\n" +
			"once the calls in flight have ended; both of them, or a second signal, kill the calls. They are killed too when\n" +
			"nobody reads stdout any more, and when the process that started this one has ended.",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.stdio(c.Context()) },
	}
}

func (a *app) stdio(ctx context.Context) error {
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
	bye := newFarewell(os.Getppid, parentEvery)
	host, err := a2ehost.New(a2ehost.Options{
		Handler: sys.supervisor, Door: "stdio", Version: version(embedded).Version, ErrorsAs: cfg.A2E.Errors, Log: log,
		InputEnded: bye.inputEnded,
	})
	if err != nil {
		return errors.Join(err, sys.close())
	}
	a.expects("A2E", "a program that starts hotcell")
	defer sys.watched(ctx)()
	signals := a.interruptible(ctx, sys.supervisor, nil, func(ctx context.Context) {
		ctx, stop := bye.watch(ctx, sys.supervisor, log)
		defer stop()
		err = serveDoors(ctx, sys.supervisor, log, func(ctx context.Context) error { return host.Serve(ctx, a.stdin, a.stdout) })
	})
	return errors.Join(killedBy(signals, stdioEnd(err)), sys.close())
}

// stdioEnd gives the end of the one session its exit code.
func stdioEnd(err error) error {
	switch {
	case errors.Is(err, a2ehost.ErrHungUp):
		return silent(exitPipe)
	case errors.Is(err, a2ehost.ErrTooManyFaults):
		return usagef("%w", err)
	}
	return err
}
