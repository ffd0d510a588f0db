package main

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/doctor"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/telemetry"
)

// app is the process as its commands see it: what tests put in the place of the real one.
type app struct {
	getenv         func(string) string
	environ        func() []string // KEY=VALUE of all variables; nil: only those that are asked for
	stdin          io.Reader
	stdout, stderr io.Writer

	// notify sends the signals that ask a process to stop to c, until stop is called.
	notify func(c chan<- os.Signal) (stop func())
	// open wires a supervisor. The caller closes what it returns.
	open func(ctx context.Context, cfg *config.Config, log *slog.Logger) (*system, error)
	// dial returns the control of a daemon, with a token or none.
	dial func(base string, token auth.Secret) (control.Control, error)
	// gather asks this host and its engine what they are.
	gather func(ctx context.Context, cfg *config.Config, log *slog.Logger) doctor.Facts

	flags globalFlags
	out   *screen
	errs  *screen
}

// supervisor is what commands need of an executor.
type supervisor interface {
	a2e.Handler
	control.Limited
	// Run is Call with input files.
	Run(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, inputs fs.FS, w a2e.EventWriter) *a2e.CallResponse
	// Drain refuses new calls and waits for those in flight; when ctx ends it kills what is left.
	Drain(ctx context.Context) error
	// Tend removes what is left behind and what was kept long enough, now and every minute until ctx ends; Sweep and Trim do
	// it once.
	Tend(ctx context.Context)
	Sweep(ctx context.Context) error
	Trim(ctx context.Context) error
}

// system is hotcell wired together.
type system struct {
	skills     skills.Catalog
	catalog    catalog.Reader // what each caller sees; nil: there is no MCP
	custom     catalog.Custom // these three may be nil as well
	agents     catalog.Agents
	approvals  catalog.Approvals
	watch      func(ctx context.Context) // keeps the skills up to date until ctx ends; nil: they are looked at when they are asked for
	supervisor supervisor
	book       control.Book    // searches its calls; may be nil
	pulse      control.Pulsing // tells how it is; with book: there is a console
	metrics    http.Handler
	auth       auth.Authenticator              // knows who calls; nil: nobody has to show anything
	probe      func(ctx context.Context) error // asks the engine whether it is there
	check      func(ctx context.Context) error // says whether what cells rely on is there; may be nil
	installer  catalog.Installer               // keeps the bundles that operators upload
	audit      control.Auditor                 // reads the audit; may be nil
	explain    control.Explainer               // these two may be nil as well
	images     control.Images
	journalled func() error    // says why no call can be journalled; nil: always
	canary     canary          // sees whether cells can be made
	lost       <-chan struct{} // closed once other supervisors have declared this one dead; may be nil
	close      func() error
}

// canary makes a cell now and then; its zero value does not.
type canary struct {
	run   func(ctx context.Context)
	ready func(ctx context.Context) error // says why no cells can be made
}

// run executes one command line and returns the process's exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.out, a.errs = newScreen(a.stdout, a.getenv), newScreen(a.stderr, a.getenv)
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = a.out.failed()
	}
	code, show := outcome(err)
	if show {
		a.errs.line("hotcell: " + errorLine(err))
	}
	return code
}

// errorLine is an error on one line, or on several where several things are wrong.
func errorLine(err error) string {
	return indented(block(err.Error(), maxLogText))
}

// logger writes what hotcell itself has to say to stderr, above a progress bar. The level is the command's own, which the
// configuration may replace.
func (a *app) logger(cfg *config.Config, level slog.Level) *slog.Logger {
	if cfg.Log.Level != config.LogLevelAuto {
		if l, err := telemetry.ParseLevel(cfg.Log.Level); err == nil {
			level = l
		}
	}
	return telemetry.NewLogger(a.errs, cfg.Log.Format, level)
}
