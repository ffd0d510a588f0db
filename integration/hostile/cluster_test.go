package hostile

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
)

// slowStart is how many seconds more a call gets on a cluster, where a cell takes a while to start and others may be before it.
const slowStart = 20

// patientDeadline is the deadline there of rows that have none of their own.
const patientDeadline = 240

// deadline is a row's in seconds.
func deadline(seconds int) int {
	if !rig.OnCluster() {
		return seconds
	}
	if seconds == 0 {
		return patientDeadline
	}
	return seconds + slowStart
}

// within are the words of a call that came to its deadline.
func within(seconds int) string { return fmt.Sprintf("within %ds", deadline(seconds)) }

// settlesWithin is how long it may take until a cell whose call has been answered is gone, or another one waits.
func settlesWithin() time.Duration {
	if rig.OnCluster() { // others may be using it
		return 3 * time.Minute
	}
	return 30 * time.Second
}

// difference is a row's verdict in a pod where it is not docker's, and why that is true.
type difference struct {
	why string
	verdict
}

// differences are all there are, by the row's name.
func differences() map[string]difference {
	const (
		profile = "a pod has its node's seccomp profile (accepted: `seccomp`), which "
		folders = "a pod's folders have no number of files of their own (accepted: `mounts`), so that "
	)
	const small = "the limit of a file's size, which keeps a container's last words on its node's disk small, "
	tooLarge := verdict{code: a2e.SkillError, reason: a2e.ReasonExit, says: "file too large"}
	const ordinary = "its node's runtime takes no image with such a link"
	noStart := verdict{code: a2e.SandboxCrash, reason: a2e.ReasonStartFailed, cold: "it does not start"}
	return map[string]difference{
		"privileges": {"cells of several supervisors share a node, so that each has a number of its own as its user", *heldBut(25, "uid")},
		"run-places": {"programs run from all of a pod's writable folders (accepted: `mounts`)",
			*heldBut(15, "run-/out", "map-/out", "run-/run/hotcell", "map-/run/hotcell", "run-/dev/shm", "map-/dev/shm")},
		"sparse":             {small + "refuses to make it", tooLarge},
		"sparse-with-result": {small + "refuses to make it", tooLarge},
		"image-volumes":      {"a pod's `/dev` is the cell's to write to, into its memory, where the image's is anybody's (accepted: `paths`)", *heldBut(15, "place-/dev")},
		"image-link-dev":     {ordinary, noStart},
		"image-link-proc":    {ordinary, noStart},
		"image-link-sys":     {ordinary, noStart},
		"syscalls": {profile + "with some runtimes permits these system calls within the cell",
			*heldBut(60, "modify_ldt", "io_uring_setup", "io_uring_enter", "io_uring_register", "mq_open", "msgget", "process_mrelease", "ptrace")},
		"foreign-calls": {profile + "takes 32-bit system calls too", *heldBut(1, "int80")},
		"debug":         {profile + "lets a process trace one of its own", *heldBut(6, "ptrace-attach", "prlimit-child")},
		"sockets":       {profile + "leaves most families of sockets to the kernel", verdict{check: opened(250, "family-38-", "family-40-", "inet-2-mptcp-", "inet-10-mptcp-", "inet-2-udplite-", "inet-10-udplite-", "netlink-")}},
		"runner": {profile + "lets a skill limit and slow down its own runner",
			*heldBut(50, "prlimit-as", "prlimit-nofile", "prlimit-fsize", "prlimit-cpu", "prlimit-stack", "prlimit-data", "sched-idle", "sched-param", "sched-attr",
				"affinity", "nice", "nice-group", "nice-user", "ioprio", "ioprio-group", "ioprio-user")},
		"shared-quotas": {profile + "permits what takes of them, and its node's runtime gives it terminals (accepted: `paths`)",
			*heldBut(20, "terminal", "terminal-of-its-own", "aio", "filter", "filter-bpf", "filter-reuseport-bpf", "huge-pages", "huge-file", "sync", "syncfs")},
		"network":         {"a pod has an interface in its cluster's network (accepted: `network`), where the attack stops of itself", *heldBut(2, "interfaces", "routes")},
		"write-system":    {"its node's runtime does not hide `/proc/pressure` (accepted: `paths`)", *heldBut(36, "open-/proc")},
		"devices":         {"a kubelet gives each container a file for its last words, which the limit of a file's size keeps small", *heldBut(50, "/dev/termination-log")},
		"memory-memfd":    {small + "stops it first", tooLarge},
		"disk-inodes":     {folders + "many empty files take the cell's memory", *tooMuch},
		"disk-attributes": {folders + "their attributes take the cell's memory", *tooMuch},
	}
}

// opened makes sure that of many kinds of sockets none was there but these, whoever said no to the others: the profile or the kernel.
func opened(tries int, kinds ...string) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		var r report
		got.into(t, &r)
		if len(r.Tried) < tries {
			t.Errorf("%d things were tried, want at least %d", len(r.Tried), tries)
		}
		for _, name := range r.Through {
			if r.Tried[name] == "done" && !slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(name, kind) }) {
				t.Errorf("%s got through", name)
			}
		}
	}
}

// The documentation has them too, word by word, and each is a row's.
func TestDifferencesAreDocumented(t *testing.T) {
	rows := map[string]int{}
	for _, group := range suites() {
		for _, r := range group {
			rows[r.name]++
		}
	}
	var want strings.Builder
	want.WriteString("| row of the hostile suite | why |\n|---|---|\n")
	all := differences()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if rows[name] != 1 {
			t.Errorf("%d rows are called %s, expected one", rows[name], name)
		}
		fmt.Fprintf(&want, "| `%s` | %s |\n", name, all[name].why)
	}
	doc, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), want.String()+"\n") {
		t.Errorf("docs/kubernetes.md does not have this table:\n%s", &want)
	}
}
