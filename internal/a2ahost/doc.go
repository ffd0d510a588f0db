// Package a2ahost is the A2A door: an agent card, and the operations of A2A 1.0 over JSON-RPC and over HTTP with JSON, each
// message a call of a skill and each call a task.
//
// It keeps nothing that has to survive: a task is its call. The call's request id is the task's id, which carries the
// context that the client chose, so that a task is put together from the journal alone, by any process that shares it. What
// lives here is the tasks in flight with their streams, and, within bounds and as long as the process does, what users said.
//
// The messages' types, the errors and the card are those of the official SDK. Its server's transports are not used: they
// round large numbers, answer with success before a stream's first error, and read bodies of any depth.
//
// Words: a task is what A2A calls so; a question is a task that asks which skill is meant.
package a2ahost
