package hostile

import (
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

const small = "limits: {memory: 64Mi}\n"

func memoryRows() []row {
	const limit = "the memory limit of the cell's cgroup"
	return []row{
		{name: "memory", what: "touches memory without end", stops: limit, yaml: small, args: []string{"memory"},
			code: a2e.OutOfMemory, says: "64Mi"},
		{name: "memory-child", what: "has a child that does it, and fails after it", stops: limit, yaml: small, args: []string{"memory-child", "1", "1"},
			code: a2e.OutOfMemory, says: "64Mi"},
		{name: "memory-child-exit-0", what: "has a child that does it, and exits with 0 after it", stops: limit, yaml: small,
			args: []string{"memory-child", "1", "0"}, check: noted("oom_child")},
		{name: "memory-grandchild", what: "has a grandchild that does it, and fails after it", stops: limit, yaml: small,
			args: []string{"memory-child", "2", "1"}, code: a2e.OutOfMemory, says: "64Mi"},
	}
}

func TestMemory(t *testing.T) { runRows(t, memoryRows()) }
