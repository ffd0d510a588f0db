package compile

import (
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// oomScore makes the kernel take a cell before anything of the host. The runner raises its child's to 1000, so that the
// child goes first and the runner can tell.
const oomScore = 500

// privileges takes every capability away, for good: no set-uid program gives one back.
func privileges(spec *sandbox.Spec, _ policies.Effective, _ Workload) error {
	spec.OCI.Process.Capabilities = &specs.LinuxCapabilities{}
	spec.OCI.Process.NoNewPrivileges = true
	return nil
}

// processLimits bounds open files, forbids core dumps, which would land on the host, and offers the cell to the kernel
// when memory runs out. The number of processes is bounded by the cgroup, since the rlimit for it counts over all cells of
// a user.
func processLimits(spec *sandbox.Spec, eff policies.Effective, _ Workload) error {
	files := uint64(eff.Limits.Files)
	spec.OCI.Process.Rlimits = []specs.POSIXRlimit{
		{Type: "RLIMIT_CORE", Hard: 0, Soft: 0},
		{Type: "RLIMIT_NOFILE", Hard: files, Soft: files},
	}
	score := oomScore
	spec.OCI.Process.OOMScoreAdj = &score
	return nil
}
