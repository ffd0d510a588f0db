// Package telemetry tells others what hotcell does: it exports the spans of [trace] over OTLP, and makes the logger that the
// whole program writes with. It is the only package that knows OpenTelemetry.
//
// Nothing here may delay a call: a span that has ended goes into a bounded queue, and where the queue is full it is dropped,
// counted, and told in the log.
package telemetry
