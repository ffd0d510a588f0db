// Package agent is the engine for skills that are instructions: a loop around a model, inside the cell. SKILL.md's body is the
// system prompt, the call's arguments are the first message, and what the model says last is the result.
//
// It speaks to the model through the cell's loopback with the official SDKs and knows no key but the cell's own token. What
// the model may use is decided outside: the broker and the tool gate see every request.
package agent
