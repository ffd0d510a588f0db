package front

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/a2ehost"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/rest"
)

// Supervisor is what runs calls, and tells of them.
type Supervisor interface {
	a2e.Handler
	control.Limited
}

// Options are what the doors stand in front of. Config, Supervisor and Log are required.
type Options struct {
	Config     *config.Config
	Supervisor Supervisor
	Auth       auth.Authenticator              // nil: nobody has to show anything
	Hosts      []string                        // what Host may name
	Metrics    http.Handler                    // nil: no /metrics
	Ready      func(ctx context.Context) error // nil: always
	Version    string
	Log        *slog.Logger

	Reader    catalog.Reader // nil: there are no MCP, no A2A and no routes of skills
	Custom    catalog.Custom // the routes of what is nil are absent
	Agents    catalog.Agents
	Approvals catalog.Approvals
	Installer catalog.Installer
	Audit     control.Auditor

	Book    control.Book      // searches calls
	Pulse   control.Pulsing   // with Book: there is a console
	Explain control.Explainer // its pages of what is nil are absent
	Images  control.Images
	Doctor  control.Examiner
}

// Web is the doors behind one handler. Its owner runs it as long as it is served.
type Web struct {
	http.Handler
	messages *a2ehost.Web
	tools    mcpDoor
	tasks    a2aDoor
	pages    pagesDoor
}

// New makes the doors.
func New(o Options) (*Web, error) {
	w := &Web{}
	var err error
	if w.messages, err = a2eOverHTTP(o); err != nil {
		return nil, err
	}
	if w.tools, err = mcpOverHTTP(o); err != nil {
		return nil, err
	}
	if w.tasks, err = a2aOverHTTP(o); err != nil {
		return nil, err
	}
	if w.pages, err = pagesOverHTTP(o); err != nil {
		return nil, err
	}
	w.Handler = rest.New(rest.Options{
		Control: o.Supervisor, Handler: o.Supervisor, Auth: o.Auth, Hosts: o.Hosts, Metrics: o.Metrics, Ready: o.Ready,
		Reader: o.Reader, Custom: o.Custom, Agents: o.Agents, Approvals: o.Approvals, Installer: o.Installer, Audit: o.Audit, Book: o.Book,
		Mounts: slices.Concat(a2eMounts(w.messages), w.tools.mounts(), w.tasks.mounts(), w.pages.mounts()), Log: o.Log, Version: o.Version,
	})
	return w, nil
}

// Run runs what the doors have beside requests, until ctx ends. Where something of it ends before, all of it does.
func (w *Web) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	ended := make([]error, 4)
	for i, serve := range []func(context.Context) error{w.messages.Serve, w.tools.serve, w.tasks.serve, w.pages.serve} {
		group.Go(func() {
			defer stop()
			ended[i] = serve(ctx)
		})
	}
	group.Wait()
	return errors.Join(ended...)
}
