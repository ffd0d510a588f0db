// Package wall is the protocol between the supervisor and a cell: one JSON object a line over the cell's stdin and
// stdout, the only thing that crosses. It holds the lines, the runner's command line, a bounded line reader and a
// writer that is safe for concurrent use.
//
// Both ends import it, so it stays within the standard library: every cell pays for its size. A reader of what comes
// out of a cell must treat each line as hostile; nothing here trusts a length, a type or an encoding.
package wall
