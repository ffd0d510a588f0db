// Package a2ehost is the front door for A2E: over standard input and output, a unix socket with many connections, and HTTP with
// server-sent events. It turns messages into calls of an [a2e.Handler] and answers into messages, and decides who has hung up.
//
// It knows the protocol and nothing of what stands behind the handler. A peer is hostile: its messages and the time
// that each takes, its calls at once, those that wait, its faults in a row, the time that a write takes and what waits for it
// are all bounded. The unfinished lines of all connections share one budget of memory, and a session that is idle gives its
// place to a new one when there are too many, so that none can hold up another for long.
//
// A session on streams is one connection, or one pair of streams, from its first line to its last answer. The end of its input
// means "no more requests": calls in flight are finished and answered. A peer that is gone altogether has hung up: its
// calls are cancelled.
//
// A session over HTTP ([Web]) has no connection of its own: requests are posted one by one, and what it says waits in an outbox
// for the stream that is connected, now or later. Its calls go on without one. It ends when it was idle for long, or was shut down.
package a2ehost
