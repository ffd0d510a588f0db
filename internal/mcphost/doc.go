// Package mcphost is the MCP door: skills as tools, what calls leave behind and the files of skills as resources, over stdin
// and stdout ([Host.ServeStdio]) and over streamable HTTP ([Host.ServeHTTP]).
//
// It speaks to an [a2e.Handler], a [catalog.Reader] and a [control.Limited] and knows nothing of what stands behind them. The
// protocol itself is the business of the go-sdk; what is listed, called and read is answered here, for the caller of the
// request, from what the catalogue says at that moment. So nothing is registered, and nothing can be out of date.
//
// Words: a peer is one client as this door knows it, with its caller; a session is a peer that lasts longer than one HTTP
// request. A session belongs to the identity that opened it: for everybody else it does not exist.
package mcphost
