// Package engine is what the two engines in a cell share: the wall's lines on standard output, the request and the lease, the
// bundle's files, and the tool gate. The engines themselves are agent, a loop around a model for skills that are
// instructions, and js, for skills that are JavaScript.
//
// An engine is a skill's own process: nothing outside of the cell trusts it. It says everything in lines, failures too, and
// never with a trace of its own.
package engine
