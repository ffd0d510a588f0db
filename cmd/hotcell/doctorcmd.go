package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/doctor"
)

func (a *app) doctorCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this host and its engine can enforce, and what is left over",
		Long: "Say what this host and its engine can enforce, and what is left over. One cell is started, looks at itself and is\n" +
			"removed again; its read-only volumes stay for later cells. It takes a second or two, at most half a minute. With the driver\n" +
			"kubernetes it looks at the cluster: three pods are started and removed again, in at most a minute and a half.\n\n" +
			"Marks: ✓ good, ! worth a look, ✗ broken, – not checked. Exit code 1 when something is broken.",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) doctor(ctx context.Context, asJSON bool) error {
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	defer a.notify(signals)()
	interrupted := make(chan struct{})
	go func() {
		select {
		case <-signals:
			close(interrupted)
			cancel()
		case <-ctx.Done():
		}
	}()
	report := doctor.Examine(a.gather(ctx, cfg, a.logger(cfg, slog.LevelError)))
	select {
	case <-interrupted:
		return silent(exitInterrupted)
	default:
	}
	if asJSON {
		err = a.printJSON(report)
	} else {
		err = report.Print(a.out, a.looks())
	}
	if err == nil && !report.OK {
		err = silent(exitFailed)
	}
	return err
}

// looks gives the marks their colours.
func (a *app) looks() func(doctor.Level, string) string {
	style := a.out.style
	return func(l doctor.Level, text string) string {
		switch l {
		case doctor.OK:
			return style.good.Render(text)
		case doctor.Warn:
			return style.warn.Render(text)
		case doctor.Fail:
			return style.bad.Render(text)
		case doctor.Skip:
		}
		return style.dim.Render(text)
	}
}
