// Package rig wires a supervisor from real parts, for integration tests and benchmarks: the Docker driver, the image
// store, skills from a folder or from memory, and the runner as a file that was built before.
//
// It is what cmd/hotcell does with a configuration, without one.
package rig
