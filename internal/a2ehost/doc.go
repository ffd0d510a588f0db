// Package a2ehost is the front door for A2E over byte streams: standard input and output, and a unix socket with many
// connections. It turns lines into calls of an [a2e.Handler] and answers into lines, and decides who has hung up.
//
// It knows the protocol and nothing of what stands behind the handler. A connection is hostile: its lines and the time
// that each takes, its calls at once, those that wait, its faults in a row and the time that a write takes are all
// bounded. The unfinished lines of all connections share one budget of memory, and a connection that is idle gives its
// place to a new one when there are too many, so that none can hold up another for long.
//
// A session is one connection, or one pair of streams, from its first line to its last answer. The end of its input
// means "no more requests": calls in flight are finished and answered. A peer that is gone altogether has hung up: its
// calls are cancelled.
package a2ehost
