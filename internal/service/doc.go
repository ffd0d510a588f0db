// Package service is what lies outside of a cell and may be used from inside, through the tunnel: model providers, hosts
// of the network, tools, secrets. It holds the contract between the supervisor, which owns a call's life, and the adapters
// that serve it.
package service
