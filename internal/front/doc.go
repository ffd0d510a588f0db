// Package front puts the doors that speak HTTP on one listener: REST, A2E, MCP and A2A, each below the paths that it has and
// within the listener's rules. The program hotcell and Go programs that embed it serve the same.
//
// It knows the doors and the configuration, and of what stands behind them no more than the doors do.
package front
