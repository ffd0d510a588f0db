// Package rest is the HTTP door: health, metrics, calls, artifacts, skills, custom skills, agents, approvals and uploaded
// bundles, described by /openapi.json and /docs, and the [Client] that `hotcell calls` uses to reach a daemon.
//
// A [route] is written down once: the mux, the rules of the listener, the OpenAPI document and the docs page are made of it.
// huma makes the document; requests are read and answered here, since the envelopes, codes and messages are Spora's and A2E's
// and not those of a framework.
//
// Its listener rules (guard.go) hold for whatever is served beside it: Host must be a name that was expected, Origin the
// listener's own, and what writes must have a content type that no form can send, so that no web page can reach the daemon
// through a browser.
//
// It speaks to an [a2e.Handler], a [control.Limited], the catalog's interfaces and an [auth.Authenticator], and knows nothing
// of what stands behind them. Where nobody has to show anything the listener must be on loopback; the configuration sees to
// that.
package rest
