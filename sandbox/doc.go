// Package sandbox is the contract between the supervisor and whatever makes cells: a [Driver] makes single-use
// [Sandbox] values from a [Spec] and lists what it left behind.
//
// The contract knows no engine, no call and no protocol. A spec carries an OCI runtime-spec, so that every driver reads
// the same words for process, mounts, resources and seccomp; a driver that cannot enforce one of them answers
// [ErrUnsupported] from Create, before anything runs, and never a weaker cell.
//
// Life of a cell: Create, Start (output flows before Start returns), Wait, Kill if need be, Destroy. Destroy is always
// called, whatever else failed, and is idempotent.
package sandbox
