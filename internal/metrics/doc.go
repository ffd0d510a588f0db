// Package metrics counts what hotcell does, for Prometheus. [Metrics] is told of calls, phases, cells, the engine, the
// journal and what calls used as they happen, and asks the parts that [Gauges] names at each scrape; [Registry] serves all
// of it at /metrics.
//
// It knows the words of the protocol, and nothing of how a call is run: the parts that report to it declare what they want
// to report as small interfaces of their own. Labels are bounded: doors, codes, reasons and operations are closed sets, and
// what a configuration names (skills, providers) gets a label of its own only while there is room, then it counts as
// "other". Custom skills are no names here: all of them count as "custom".
package metrics
