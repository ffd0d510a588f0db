// Package rest is the HTTP door: health, metrics, and the calls of a supervisor under /v1/calls, and the [Client] that
// `hotcell calls` uses to reach them.
//
// Its listener rules (guard.go) hold for whatever is served beside it: Host must be a name that was expected, Origin the
// listener's own, and what writes must be JSON, so that no web page can reach the daemon through a browser.
//
// It speaks to a [control.Limited] and an [auth.Authenticator] and knows nothing of what stands behind them. Where nobody
// has to show anything the listener must be on loopback; the configuration sees to that.
package rest
