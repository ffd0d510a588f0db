package hostile

import (
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Two sizes of cells: a small one that is quickly full, and one with room for much memory and any runtime's own.
const (
	small = "limits: {memory: 64Mi}\n"
	roomy = "limits: {memory: 128Mi}\n"
)

func memoryRows() []row {
	const limit = "the memory limit of the cell's cgroup"
	eats := func(name, what string, args ...string) row {
		return row{name: name, what: what, stops: limit, yaml: small, args: args, code: a2e.OutOfMemory, says: "64Mi"}
	}
	return []row{
		eats("memory", "touches memory without end", "memory"),
		eats("memory-child", "has a child that does it, and fails after it", "memory-child", "1", "1"),
		eats("memory-grandchild", "has a grandchild that does it, and fails after it", "memory-child", "2", "1"),
		eats("memory-leak", "comes near the limit and then creeps up on it", "memory-leak"),
		eats("memory-memfd", "fills a file that is nowhere but in memory", "memory-memfd"),
		eats("memory-sysv", "fills shared memory that outlives its maker", "memory-sysv"),
		{name: "memory-python", what: "does it in an interpreter", stops: limit, yaml: small,
			python: "b = []\nwhile True: b.append(bytearray(1 << 20))", code: a2e.OutOfMemory, says: "64Mi"},
		{name: "memory-child-exit-0", what: "has a child that does it, and exits with 0 after it", stops: limit, yaml: small,
			args: []string{"memory-child", "1", "0"}, check: noted("was killed for want of memory"), runsc: tooMuch},
		{name: "memory-after-result", what: "does it once its result is out", stops: limit, yaml: small,
			args: []string{"memory-after-result"}, check: noted("was killed for want of memory")},
		{name: "memory-brink", what: "uses much memory, but not too much", stops: "nothing", yaml: roomy,
			args: []string{"memory-brink", "80"}, check: calm},
		{name: "memory-pipes", what: "fills pipes that nobody reads", stops: "limits.files, pages of pipes per user", yaml: small,
			args: []string{"memory-pipes"}, check: held(1)},
		{name: "memory-locked", what: "locks memory", stops: "RLIMIT_MEMLOCK, no capability", args: []string{"memory-locked"}, check: held(4)},
		{name: "start-tight", what: "starts with the least memory and the longest command line there may be", stops: "nothing",
			yaml:  "limits: {memory: 16Mi}\nrun: {image: 'hotcell/python:3', command: [skillbomb, hello" + strings.Repeat(", "+strings.Repeat("x", 4000), 16) + "]}\n",
			runsc: &verdict{code: a2e.OutOfMemory, cold: "its kernel alone needs as much, so that it is never ready"},
			check: func(t testing.TB, got told) {
				var n int
				if got.into(t, &n); n != 16 {
					t.Errorf("it got %d arguments, want 16", n)
				}
				calm(t, got)
			}},
		{name: "start-too-tight", what: "asks for less memory than a cell can start with", stops: "the least there may be, before anything starts",
			yaml: "limits: {memory: 4Mi}\n", args: []string{"hello"}, code: a2e.RuntimeError, reason: a2e.ReasonBlocked, says: "limits.memory"},
		{name: "start-too-long", what: "has a longer command line than a kernel takes", stops: "the longest there may be, before anything starts",
			yaml: "run: {image: 'hotcell/python:3', command: [skillbomb, hello" + strings.Repeat(", "+strings.Repeat("x", 4000), 17) + "]}\n",
			code: a2e.RuntimeError, reason: a2e.ReasonUnsupported, says: "command has"},
	}
}

// calm makes sure that nothing was noted beside the result, an OOM kill above all.
func calm(t testing.TB, got told) {
	t.Helper()
	for _, s := range got.messages() {
		if strings.Contains(s, "did not end well") {
			t.Error(s)
		}
	}
}

func TestMemory(t *testing.T) { runRows(t, memoryRows()) }
