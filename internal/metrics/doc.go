// Package metrics counts what the supervisor does, for Prometheus. [Metrics] is told of calls, phases and cells as they
// happen; [Registry] serves them at /metrics.
//
// It knows the words of the protocol, and nothing of how a call is run. Labels are bounded: what comes from outside
// (skill names, reasons) gets a label of its own only while there is room, then it counts as "other".
package metrics
