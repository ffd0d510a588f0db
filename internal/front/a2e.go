package front

import (
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/a2ehost"
	"github.com/hotcell/hotcell/internal/rest"
)

// a2eOverHTTP is the door of A2E's HTTP transport. It is to be served, and mounted on the listener.
func a2eOverHTTP(o Options) (*a2ehost.Web, error) {
	host, err := a2ehost.New(a2ehost.Options{
		Handler: o.Supervisor, Auth: o.Auth, Door: "http", Version: o.Version, ErrorsAs: o.Config.A2E.Errors, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	return host.Web(a2ehost.WebOptions{SessionIdle: time.Duration(o.Config.A2E.SessionIdle)})
}

// longestHello is what a request for a session may carry, in bytes: clients send nothing, or an empty object.
const longestHello = 4 << 10

// a2eMounts are the routes of the door. Upstream's client asks for a session with no content type and no body. That alone
// would get through a browser without a preflight; what else a page could send is refused by the listener's rules on Host and
// Origin, and all other routes want a header of their own.
func a2eMounts(door *a2ehost.Web) []rest.Mount {
	plain := []string{"text/plain", "application/json"}
	return []rest.Mount{
		{Patterns: []string{"POST /session"}, Content: append([]string{""}, plain...), MaxBody: longestHello, Handler: door},
		{Patterns: []string{"POST /send"}, Content: plain, MaxBody: a2e.MaxLine, Handler: door},
		{Patterns: []string{"GET /stream", "GET /health"}, Handler: door},
	}
}
