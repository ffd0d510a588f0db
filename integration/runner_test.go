package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// signals is what a skill sends to the runner. gVisor does not shield the first process of a namespace from those that
// cannot be caught, or that the runner leaves to the kernel: there a skill can end its own cell, and nothing else.
func signals() string {
	if underRunsc() {
		return "SIGQUIT SIGTERM SIGINT SIGABRT SIGUSR1"
	}
	return "SIGKILL SIGSTOP SIGQUIT SIGTERM SIGINT SIGABRT SIGSEGV SIGUSR1"
}

// A skill has the runner's uid, and still cannot stop it, read it or take its limits away: after all of this the runner
// reports the result as if nothing had been.
func TestTheRunnerWithstandsItsSkill(t *testing.T) {
	script := `import ctypes, errno, json, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
def sys(name, *args):
    return "ok" if libc[name](*args) == 0 else errno.errorcode[ctypes.get_errno()]
out = {}
for name in "SIGNALS".split():
    os.kill(1, getattr(signal, name))  # allowed, since the uid is the same, and without effect
two = (ctypes.c_ulong * 2)(1, 1)
out["prlimit of the runner"] = sys("prlimit", 1, resource.RLIMIT_NOFILE, ctypes.byref(two), None)
out["prlimit of its own"] = sys("prlimit", 0, resource.RLIMIT_CORE, ctypes.byref((ctypes.c_ulong * 2)(0, 0)), None)
out["ptrace"] = sys("ptrace", 16, 1, None, None)
for name in ("fd/1", "mem", "environ", "maps", "exe", "cwd"):
    try:
        os.readlink("/proc/1/" + name) if name in ("exe", "cwd", "fd/1") else open("/proc/1/" + name, "rb").read(1)
        out["/proc/1/" + name] = "ok"
    except OSError as e:
        out["/proc/1/" + name] = errno.errorcode[e.errno]
print(json.dumps({"type": "skill/result", "success": True, "data": out}))
`
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("attacker", "", strings.Replace(script, "SIGNALS", signals(), 1))})
	got := ask(t.Context(), r, request("attacker", 60), nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	want := map[string]any{
		"prlimit of the runner": "EPERM", "prlimit of its own": "ok", "ptrace": "EPERM",
		"/proc/1/fd/1": "EACCES", "/proc/1/mem": "EACCES", "/proc/1/environ": "EACCES", "/proc/1/maps": "EACCES",
		"/proc/1/exe": "EACCES", "/proc/1/cwd": "EACCES",
	}
	if d := cmp.Diff(want, got.data(t)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Where a skill can end its runner, the call is a crash, whatever the signal.
func TestARunnerThatIsKilledIsACrash(t *testing.T) {
	testutil.Require(t, "runsc")
	script := "import os, sys, time, json\nos.kill(1, json.load(sys.stdin)['arguments']['n'])\ntime.sleep(60)"
	r := newRig(t, rig.Options{Runtime: "runsc", Skills: rig.PythonSkill("killer", "", script)})
	for _, n := range []int{9, 11, 31} {
		req := request("killer", 30)
		req.Arguments = map[string]any{"n": n}
		got := ask(t.Context(), r, req, nil)
		if code, reason := got.code(); code != a2e.SandboxCrash || reason != a2e.ReasonSignal || !strings.Contains(got.answer.Error.Message, fmt.Sprint(128+n)) {
			t.Errorf("signal %d: got %+v", n, got.answer.Error)
		}
	}
}
