// Package trace is how the parts of hotcell tell what they do and how long it takes, without knowing who listens. A [Span] is
// one piece of work; a [Tracer] keeps them. Where nobody does, a Span is empty and everything about it costs nothing.
//
// What is told of a span is names, sizes, codes and durations: never arguments, results, bodies or secrets.
package trace
