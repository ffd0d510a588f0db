package hostile

import (
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

func quotaRows() []row {
	const ownUser = "a uid of its own for each cell, and the cell's memory limit"
	rows := []row{{name: "shared-quotas", what: "takes of what all users share: terminals, asynchronous I/O, compiled filters, huge pages, the disk's queue",
		stops: "the seccomp profile, masked paths", args: []string{"shared-quotas"}, check: held(20),
		runsc: heldBut(20, "terminal", "terminal-of-its-own")}}
	for _, kind := range []string{"inotify", "pipes", "signals", "queues", "locks", "timers", "flight"} {
		one := row{name: "exhaust-" + kind, what: "takes all there is of " + kind + ", beside a cell that needs some", stops: ownUser,
			args: []string{"exhaust", kind}, neighbour: []string{"own-quotas"}, code: a2e.RuntimeError, reason: a2e.ReasonCancelled}
		if kind == "inotify" || kind == "timers" {
			one.runsc = tooMuch // they are the cell's own memory there
		} else {
			// Now and then gVisor's kernel gets no thread any more, and dies of that before the neighbour is done.
			one.runsc = &verdict{code: one.code, reason: one.reason, or: &verdict{code: a2e.SandboxCrash, reason: a2e.ReasonExit}}
		}
		rows = append(rows, one)
	}
	return rows
}

func TestQuotas(t *testing.T) { runRows(t, quotaRows()) }
