// Package executor is the supervisor: one call's life from request to answer, and the calls that are in flight. It
// decides; others do. Skills, images and cells reach it as contracts of the floors below, front doors as an
// [a2e.Handler] and a [control.Control].
//
// A newcomer reads call.go first: it tells one call from start to end. classify.go is the pure function that turns the
// facts of an end into the one true reason. What a call may use outside of its cell is granted by services (grants.go), and
// the lines by which the cell uses it are led to them (side.go).
package executor
