// Package doors drives one catalogue of calls through every front door of a daemon, with the official clients of each
// protocol, and expects the same outcome of all of them: each row is a call, each column a door.
//
// The clients that are no Go programs lie in node and in docs/clients; scripts/node-clients fetches what they need.
package doors
