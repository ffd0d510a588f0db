// Package a2e is the vocabulary of A2E's skills capability: its messages, its error codes, the typed [Error], the NDJSON
// [Encoder] and [Decoder], and the two interfaces by which a front door and a supervisor meet, [Handler] and
// [EventWriter].
//
// It knows the shapes on the wire and nothing of how a skill is found or run. Field order is the order of the source
// document's tables (spec "A2E Skills Capability", S1), since Go encodes struct fields in the order in which they stand.
package a2e
