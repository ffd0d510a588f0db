package embed

import (
	"context"
	"net/http"
	"time"

	"github.com/hotcell/hotcell/internal/a2ahost"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/a2ehost"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/mcphost"
	"github.com/hotcell/hotcell/internal/rest"
)

// longestHello is what a request for an A2E session may carry, in bytes.
const longestHello = 4 << 10

// openWeb makes the doors that share one HTTP listener, and returns what has to run as long as they are open.
func (h *Host) openWeb() (http.Handler, []func(context.Context) error, error) {
	lines, err := a2ehost.New(a2ehost.Options{
		Handler: h.sys.Supervisor, Auth: h.sys.Auth, Door: "http", Version: h.version, ErrorsAs: h.cfg.A2E.Errors, Log: h.log,
	})
	if err != nil {
		return nil, nil, err
	}
	messages, err := lines.Web(a2ehost.WebOptions{SessionIdle: time.Duration(h.cfg.A2E.SessionIdle)})
	if err != nil {
		return nil, nil, err
	}
	tasks, err := a2ahost.New(a2ahost.Options{
		Handler: h.sys.Supervisor, Control: h.sys.Supervisor, Skills: h.sys.Catalog.Reader, Security: security(h.cfg), URL: h.cfg.A2A.URL,
		Version: h.version, Lenient: !h.cfg.Exposed(), Log: h.log,
	})
	if err != nil {
		return nil, nil, err
	}
	web := rest.New(rest.Options{
		Control: h.sys.Supervisor, Handler: h.sys.Supervisor, Auth: h.sys.Auth, Hosts: host.HostNames(h.cfg), Metrics: h.sys.Metrics,
		Log: h.log, Version: h.version,
		Reader: h.sys.Catalog.Reader, Custom: h.sys.Catalog.Custom, Agents: h.sys.Catalog.Agents, Approvals: h.sys.Catalog.Approvals, Audit: h.sys.Audit,
		Mounts: h.mounts(messages, tasks),
		Ready: func(ctx context.Context) error {
			if err := h.sys.Journalled(); err != nil {
				return err
			}
			return h.sys.Probe(ctx)
		},
	})
	end := func(ctx context.Context) error { <-ctx.Done(); tasks.Close(); return nil }
	return web, []func(context.Context) error{messages.Serve, h.tools.Run, end}, nil
}

// mounts are the doors beside REST.
func (h *Host) mounts(messages *a2ehost.Web, tasks *a2ahost.Host) []rest.Mount {
	plain := []string{"text/plain", "application/json"}
	return []rest.Mount{
		{Patterns: []string{"POST /session"}, Content: append([]string{""}, plain...), MaxBody: longestHello, Handler: messages},
		{Patterns: []string{"POST /send"}, Content: plain, MaxBody: a2e.MaxLine, Handler: messages},
		{Patterns: []string{"GET /stream", "GET /health"}, Handler: messages},
		{Patterns: mcphost.Patterns(), Scope: auth.Calls, MaxBody: mcphost.MaxBody, Handler: h.tools},
		{Patterns: []string{"GET " + a2ahost.CardPath}, Handler: tasks.Card()},
		{
			Patterns: []string{a2ahost.BasePath + "/"}, Scope: auth.Calls, MaxBody: a2ahost.MaxBody, Handler: tasks.Operations(),
			Content: append([]string{"", "application/a2a+json"}, plain...),
		},
	}
}

// security is how callers show who they are, for the card.
func security(cfg *config.Config) a2ahost.Security {
	switch cfg.Auth.Mode {
	case config.AuthNone:
		return a2ahost.Security{}
	case config.AuthOIDC:
		return a2ahost.Security{Tokens: true, Issuer: cfg.Auth.OIDC.Issuer}
	}
	return a2ahost.Security{Tokens: true}
}
