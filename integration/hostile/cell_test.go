package hostile

import (
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

func privilegeRows() []row {
	return []row{
		{name: "privileges", what: "becomes somebody else and takes capabilities", stops: "a uid of its own, no capability, no-new-privileges",
			args: []string{"privileges"}, check: held(25)},
		{name: "setuid-programs", what: "runs set-uid programs, its own above all", stops: "no-new-privileges, nosuid",
			args: []string{"setuid-programs"}, check: held(3)},
		{name: "run-places", what: "runs programs from each writable place and makes devices there", stops: "noexec but in /workspace, no CAP_MKNOD",
			args: []string{"run-places"}, check: held(15)},
		{name: "core", what: "crashes in every way that leaves a core", stops: "RLIMIT_CORE 0", args: []string{"core"}, check: held(17)},
	}
}

func systemRows() []row {
	return []row{
		{name: "write-system", what: "writes to all of /proc and /sys", stops: "read-only and masked paths, a read-only /sys, a uid of its own",
			args: []string{"write-system"}, check: held(36), runsc: heldBut(36, "/proc/self/oom_score_adj")},
		{name: "read-system", what: "reads the kernel's memory, keys and logs", stops: "masked paths, no capability", args: []string{"read-system"}, check: held(27)},
		{name: "devices", what: "opens devices and the engine's socket", stops: "the engine's few devices, no mount of the host", args: []string{"devices"}, check: held(50),
			runsc: heldBut(50, "/dev/char", "/dev/fuse", "/dev/net", "open-fuse-0", "open-fuse-2", "open-net/tun-0", "open-net/tun-2")},
	}
}

func runnerRows() []row {
	const runner = "the runner, which cannot be traced and catches every signal; the seccomp profile"
	return []row{
		{name: "runner", what: "reads, writes, limits and slows PID 1", stops: runner, args: []string{"runner"}, check: held(50), runsc: heldBut(50, "list-fd")},
		{name: "runner-signals", what: "sends PID 1 every signal in every way", stops: runner, args: []string{"runner-signals"}, check: held(66),
			runsc: &verdict{code: a2e.SandboxCrash, reason: a2e.ReasonSignal}},
		{name: "kill-everyone", what: "kills and stops all that it may", stops: runner, args: []string{"kill-everyone"}, check: held(3)},
	}
}

func TestPrivileges(t *testing.T) { runRows(t, privilegeRows()) }
func TestSystem(t *testing.T)     { runRows(t, systemRows()) }
func TestRunner(t *testing.T)     { runRows(t, runnerRows()) }
