package front

import (
	"context"

	"github.com/hotcell/hotcell/internal/a2ahost"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/rest"
)

// a2aDoor is A2A as one of the daemon's doors.
type a2aDoor struct{ host *a2ahost.Host }

// a2aOverHTTP is the door of both of A2A's bindings. It is to be served, and mounted on the listener.
func a2aOverHTTP(o Options) (a2aDoor, error) {
	if o.Reader == nil {
		return a2aDoor{}, nil
	}
	host, err := a2ahost.New(a2ahost.Options{
		Handler: o.Supervisor, Control: o.Supervisor, Skills: o.Reader, Security: Security(o.Config), URL: o.Config.A2A.URL,
		Version: o.Version, Lenient: !o.Config.Exposed(), Log: o.Log,
	})
	return a2aDoor{host}, err
}

// Security is how callers show who they are.
func Security(cfg *config.Config) a2ahost.Security {
	switch cfg.Auth.Mode {
	case config.AuthNone:
		return a2ahost.Security{}
	case config.AuthOIDC:
		return a2ahost.Security{Tokens: true, Issuer: cfg.Auth.OIDC.Issuer}
	}
	return a2ahost.Security{Tokens: true}
}

// mounts are the routes of the door: the card is everybody's. Requests of other content types get in, to be refused in the
// words of A2A, and some clients cancel and subscribe with no body and no type; the rules on Host and Origin hold for all.
func (d a2aDoor) mounts() []rest.Mount {
	if d.host == nil {
		return nil
	}
	return []rest.Mount{
		{Patterns: []string{"GET " + a2ahost.CardPath}, Handler: d.host.Card()},
		{
			Patterns: []string{a2ahost.BasePath + "/"}, Scope: auth.Calls, MaxBody: a2ahost.MaxBody, Handler: d.host.Operations(),
			Content: []string{"", "application/json", "application/a2a+json", "text/plain"},
		},
	}
}

// serve ends the tasks when ctx ends.
func (d a2aDoor) serve(ctx context.Context) error {
	<-ctx.Done()
	if d.host != nil {
		d.host.Close()
	}
	return nil
}
