package oci

import (
	"github.com/hotcell/hotcell/sandbox/cgroup"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// namespaces: all of them, each the cell's own. A runtime brings up the loopback device of a new network namespace, and
// nothing else is in it.
func (c *conversion) namespaces() error {
	kinds := []specs.LinuxNamespaceType{
		specs.PIDNamespace, specs.NetworkNamespace, specs.MountNamespace, specs.IPCNamespace, specs.UTSNamespace, specs.CgroupNamespace,
	}
	for _, kind := range kinds {
		if !oneOf(c.linux.Namespaces, kind) {
			return unsupported("linux.namespaces: a cell has a %s namespace of its own", kind)
		}
		c.out.Linux.Namespaces = append(c.out.Linux.Namespaces, specs.LinuxNamespace{Type: kind})
	}
	if len(c.linux.Namespaces) > len(kinds) {
		return unsupported("linux.namespaces: others than pid, network, mount, ipc, uts and cgroup")
	}
	c.out.Linux.RootfsPropagation = "rprivate"
	c.linux.Namespaces = nil
	return nil
}

// oneOf reports whether a namespace kind is in the list, and has no path.
func oneOf(list []specs.LinuxNamespace, kind specs.LinuxNamespaceType) bool {
	for _, ns := range list {
		if ns.Type == kind {
			return ns.Path == ""
		}
	}
	return false
}

// memory: a limit, and no swap beyond it. The call's limit is that of the group around the cell; the cell's own is a
// little higher, so that ours is the one that is hit.
func (c *conversion) memory() error {
	if c.linux.Resources == nil {
		return unsupported("linux.resources: must be set")
	}
	r := *c.linux.Resources
	if r.Memory == nil || r.Memory.Limit == nil || *r.Memory.Limit <= 0 {
		return unsupported("linux.resources.memory.limit: must be set")
	}
	m := *r.Memory
	if m.Swap != nil && *m.Swap != *m.Limit {
		return unsupported("linux.resources.memory.swap: must be equal to the limit, which means no swap")
	}
	limit := *m.Limit + cgroup.Slack
	c.out.Linux.Resources.Memory = &specs.LinuxMemory{Limit: &limit, Swap: &limit}
	m.Limit, m.Swap = nil, nil
	r.Memory = &m
	c.linux.Resources = &r
	return nil
}

// cpu is a hard cap, and a weight against others.
func (c *conversion) cpu() error {
	if c.linux.Resources.CPU == nil {
		return nil
	}
	cpu := *c.linux.Resources.CPU
	out := &specs.LinuxCPU{}
	if cpu.Quota != nil && *cpu.Quota > 0 {
		period := uint64(100_000)
		if cpu.Period != nil && *cpu.Period > 0 {
			period = *cpu.Period
		}
		if period > 1_000_000 || *cpu.Quota > 1_000_000_000 {
			return unsupported("linux.resources.cpu: quota %d in period %d", *cpu.Quota, period)
		}
		quota := *cpu.Quota
		out.Quota, out.Period = &quota, &period
	}
	if cpu.Shares != nil {
		if *cpu.Shares > 262_144 {
			return unsupported("linux.resources.cpu.shares: %d is more than 262144", *cpu.Shares)
		}
		shares := *cpu.Shares
		out.Shares = &shares
	}
	c.out.Linux.Resources.CPU = out
	cpu.Quota, cpu.Period, cpu.Shares = nil, nil, nil
	c.linux.Resources.CPU = &cpu
	return nil
}

func (c *conversion) pids() error {
	p := c.linux.Resources.Pids
	if p == nil || p.Limit == nil || *p.Limit <= 0 {
		return unsupported("linux.resources.pids.limit: must be set")
	}
	limit := *p.Limit
	c.out.Linux.Resources.Pids = &specs.LinuxPids{Limit: &limit}
	c.linux.Resources.Pids = nil
	return nil
}

// devices: a runtime's few harmless ones.
func (c *conversion) devices() error {
	for _, d := range c.linux.Resources.Devices {
		if d.Allow {
			return unsupported("linux.resources.devices: allows %s %s", d.Type, d.Access)
		}
	}
	c.out.Linux.Resources.Devices = []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}
	c.linux.Resources.Devices = nil
	return nil
}
