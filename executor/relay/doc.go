// Package relay turns what a cell writes on its stdout into the numbered, bounded events of one call.
//
// Everything that comes out of a cell is hostile. A [Relay] reads it as fast as it comes, so that a slow consumer never
// stalls the skill; it buffers within the call's budgets and reports when one is exceeded. Unknown and malformed lines
// become log events; none of them can end a call, forge another's events or widen what the cell may do.
package relay
