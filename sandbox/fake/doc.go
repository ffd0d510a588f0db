// Package fake is a sandbox driver in memory, for the tests of what stands above drivers. A cell is a goroutine that runs
// a [Program]; what goes wrong, and when, is said with [Faults]. It passes the same conformance suite as real drivers.
//
// It isolates nothing and must never run anything that is not a test's own.
package fake
