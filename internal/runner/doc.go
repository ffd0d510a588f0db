// Package runner is the program in a cell: PID 1, which starts the skill's own process and speaks the wall on its behalf.
//
// A life: announce itself; take input files, secrets and one request from stdin; start the skill with the request on its
// stdin; pass its events and its result through and make log events of all else that it prints; when it has ended, kill
// what it left running, send the files below /out as artifacts, make a result of plain output where the skill gave none,
// report how it ended; wait to be let go. Connections to the loopback ports that the call was granted go through the wall's
// tunnel meanwhile; before the lease they are refused. When stdin ends, the supervisor is gone and everything dies.
//
// The skill has the runner's uid and is hostile. The runner bounds its own memory and protects itself ([Protect]);
// budgets, deadlines and verdicts are the supervisor's. Every cell pays for this program's size and start: it stays with
// the standard library, and without net/http and os/exec. Of net it has the interfaces alone; its sockets are its own.
//
// It must not know A2E beyond the request's correlation id, nor anything of drivers and policies.
package runner
