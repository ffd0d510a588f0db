package integration

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/integration/rig"
)

// A skill has the runner's uid, and still cannot stop it, read it or take its limits away: after all of this the runner
// reports the result as if nothing had been.
func TestTheRunnerWithstandsItsSkill(t *testing.T) {
	script := `import ctypes, errno, json, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
def sys(name, *args):
    return "ok" if libc[name](*args) == 0 else errno.errorcode[ctypes.get_errno()]
out = {}
for n in (signal.SIGKILL, signal.SIGSTOP, signal.SIGQUIT, signal.SIGTERM, signal.SIGINT, signal.SIGABRT, signal.SIGSEGV, signal.SIGUSR1):
    os.kill(1, n)  # allowed, since the uid is the same, and without effect
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
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("attacker", "", script)})
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
