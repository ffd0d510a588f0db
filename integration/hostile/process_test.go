package hostile

import (
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

func processRows() []row {
	const pids = "limits.pids, by the cgroup"
	crash := func(name, what, signal string) row {
		return row{name: name, what: what, stops: "the runner, which tells an exit from a signal", args: []string{"signal-self", signal},
			code: a2e.SandboxCrash, reason: a2e.ReasonSignal, says: "signal " + signal}
	}
	endless := func(name, what, stops string, args ...string) row {
		return row{name: name, what: what, stops: stops, args: args, seconds: 2, code: a2e.Timeout, says: within(2)}
	}
	// Under runsc the limit also counts the threads of its own kernel, which dies when it can't have another one.
	noThread := &verdict{code: a2e.SandboxCrash, reason: a2e.ReasonExit}
	counted := heldBut(2)
	counted.or = noThread
	return []row{
		{name: "fork-count", what: "starts processes until it cannot", stops: pids, args: []string{"fork-count", "64"}, check: held(2), runsc: counted},
		endless("fork-bomb", "multiplies for ever", pids+", and the deadline", "fork-bomb").but(&verdict{code: a2e.Timeout, or: noThread}),
		{name: "thread-bomb", what: "starts threads until it cannot", stops: pids, args: []string{"thread-bomb"},
			code: a2e.SkillError, reason: a2e.ReasonExit, says: "exited with 2", runsc: tooMuch},
		{name: "thread-bomb-python", what: "does it in an interpreter that outlives it", stops: pids, python: threadBomb, check: held(2), runsc: tooMuch},
		{name: "zombies", what: "leaves more dead orphans than there may be processes", stops: "the runner, which reaps as PID 1",
			args: []string{"zombies"}, check: held(1)},
		{name: "files", what: "opens files until it cannot", stops: "RLIMIT_NOFILE", args: []string{"files", "256"}, check: held(5)},
		endless("spin", "keeps all processors busy", "the processor quota, and the deadline", "spin"),
		endless("deaf", "ignores every signal", "SIGKILL at the deadline", "deaf"),
		endless("stop-self", "stops itself", "SIGKILL at the deadline", "signal-self", "19"),
		crash("kill-self", "kills itself", "9"),
		crash("segfault", "crashes", "11"),
		crash("abort", "aborts", "6"),
		crash("terminate-self", "sends itself SIGTERM", "15"),
		endless("vfork", "waits for a child without hearing any signal", "SIGKILL at the deadline", "vfork"),
		{name: "segfault-python", what: "touches memory that is not there, in an interpreter", stops: "the runner, which tells an exit from a signal",
			python: "import ctypes\nctypes.string_at(0)", code: a2e.SandboxCrash, reason: a2e.ReasonSignal, says: "signal 11"},
		{name: "fork-bomb-python", what: "forks for ever, in an interpreter that takes no for an answer", stops: pids + ", and the deadline", seconds: 2,
			python: "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", code: a2e.Timeout, runsc: &verdict{code: a2e.Timeout, or: noThread}},
		{name: "exit-137", what: "exits as if it had been killed", stops: "the runner, which tells an exit from a signal",
			args: []string{"exit", "137"}, code: a2e.SkillError, reason: a2e.ReasonExit, says: "exited with 137"},
		{name: "exit-139", what: "exits as if it had crashed", stops: "the runner, which tells an exit from a signal",
			args: []string{"exit", "139"}, code: a2e.SkillError, reason: a2e.ReasonExit, says: "exited with 139"},
		{name: "daemon", what: "leaves a daemon that keeps stdout, after a result", stops: "the runner, which ends what is left",
			args: []string{"daemon"}, check: says("left")},
		{name: "daemon-plain", what: "leaves a daemon that keeps stdout, without a result", stops: "the runner, which ends what is left",
			args: []string{"daemon", "plain"}, check: says("plain")},
		{name: "priority", what: "puts itself before everybody else", stops: "no capability, the seccomp profile", args: []string{"priority"}, check: held(6), runsc: heldBut(6, "nice")},
	}
}

const threadBomb = `import json, threading
stop, n, tried, through = threading.Event(), 0, {}, []
try:
    while n < 10000:
        threading.Thread(target=stop.wait, daemon=True).start()
        n += 1
except RuntimeError as e:
    tried["start"] = str(e)
else:
    through.append("start")
    tried["start"] = "done"
tried["threads"] = str(n)
if n == 0 or n >= 64: through.append("threads")
stop.set()
print(json.dumps({"type": "skill/result", "success": True, "data": {"tried": tried, "through": through}}))`

// says makes sure what the result's data is.
func says(want string) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		var s string
		if got.into(t, &s); s != want {
			t.Errorf("data = %q, want %q", s, want)
		}
	}
}

func TestProcesses(t *testing.T) { runRows(t, processRows()) }
