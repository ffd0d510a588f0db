package compile

import (
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// cpuPeriod is the window, in microseconds, within which a cell gets its share of processor time.
const cpuPeriod = 100_000

// memory bounds processes, tmpfs and kernel memory together, with no swap. Past it the kernel kills; it never freezes.
func memory(spec *sandbox.Spec, eff policies.Effective, _ Workload) error {
	limit, swap, disabled := int64(eff.Limits.Memory), int64(eff.Limits.Memory), false
	spec.OCI.Linux.Resources.Memory = &specs.LinuxMemory{Limit: &limit, Swap: &swap, DisableOOMKiller: &disabled}
	return nil
}

// cpu slows a cell down past its share.
func cpu(spec *sandbox.Spec, eff policies.Effective, _ Workload) error {
	quota, period := int64(eff.Limits.CPU)*cpuPeriod/int64(policies.Core), uint64(cpuPeriod)
	spec.OCI.Linux.Resources.CPU = &specs.LinuxCPU{Quota: &quota, Period: &period}
	return nil
}

// pids bounds processes and threads, so that a fork bomb stays in its cell.
func pids(spec *sandbox.Spec, eff policies.Effective, _ Workload) error {
	limit := eff.Limits.PIDs
	spec.OCI.Linux.Resources.Pids = &specs.LinuxPids{Limit: &limit}
	return nil
}
