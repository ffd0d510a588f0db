// Package collector is a collector of traces for tests: it takes OTLP over HTTP on a loopback address, and keeps the spans.
package collector
