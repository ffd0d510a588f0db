// Package engineproxy stands between a client and a Docker Engine and does to their conversation what a bad day does:
// replies are lost, late, wrong or without end, connections break, streams are cut or forged, the engine is gone and
// comes back. All else passes unchanged, upgraded streams and their half-closes included.
//
// Tests alone import it. It knows HTTP and nothing of hotcell or of the engine's types.
//
// A [Proxy] is told what to do by [Rule]s, which can be added and taken away while it runs.
package engineproxy
