// Package config reads hotcell's configuration: one [Config], its defaults, and [Load], which lays the file, the
// environment and the flags over them and remembers where each value came from.
//
// It knows names, types and bounds. What a value means to an engine or a call is the business of those that get it; it
// opens no engine, no listener and no data folder.
//
// Words: a key is a dotted path ("sandbox.driver"); a field is one entry of the table in fields.go; an origin is the
// place that set a value.
package config
