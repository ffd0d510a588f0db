package docker

import (
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// namespaces: all of them, each the cell's own. NetworkDisabled leaves a loopback device alone in the network namespace
// and skips the engine's slow network set-up; the mode says the same to everyone who reads it.
func (c *conversion) namespaces() error {
	for _, kind := range []specs.LinuxNamespaceType{
		specs.PIDNamespace, specs.NetworkNamespace, specs.MountNamespace, specs.IPCNamespace, specs.UTSNamespace, specs.CgroupNamespace,
	} {
		if !oneOf(c.linux.Namespaces, kind) {
			return unsupported("linux.namespaces: a cell has a %s namespace of its own", kind)
		}
	}
	if len(c.linux.Namespaces) > 6 {
		return unsupported("linux.namespaces: others than pid, network, mount, ipc, uts and cgroup")
	}
	c.config.NetworkDisabled = true
	c.host.NetworkMode = "none"
	c.host.CgroupnsMode = "private"
	c.linux.Namespaces = nil
	return nil
}

// memory: a limit, and no swap beyond it.
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
	noKiller := false
	c.host.Memory, c.host.MemorySwap, c.host.OomKillDisable = *m.Limit, *m.Limit, &noKiller
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
	if cpu.Quota != nil && *cpu.Quota > 0 {
		period := uint64(100_000)
		if cpu.Period != nil && *cpu.Period > 0 {
			period = *cpu.Period
		}
		if period > 1_000_000 || *cpu.Quota > 1_000_000_000 {
			return unsupported("linux.resources.cpu: quota %d in period %d", *cpu.Quota, period)
		}
		// Not NanoCPUs: an engine refuses more of those than it has cores.
		c.host.CPUQuota, c.host.CPUPeriod = *cpu.Quota, int64(period)
	}
	if cpu.Shares != nil {
		if *cpu.Shares > 262_144 {
			return unsupported("linux.resources.cpu.shares: %d is more than 262144", *cpu.Shares)
		}
		c.host.CPUShares = int64(*cpu.Shares)
	}
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
	c.host.PidsLimit = &limit
	c.linux.Resources.Pids = nil
	return nil
}

// devices: the engine's few harmless ones. A rule that denies all is what it does anyway.
func (c *conversion) devices() error {
	for _, d := range c.linux.Resources.Devices {
		if d.Allow {
			return unsupported("linux.resources.devices: allows %s %s", d.Type, d.Access)
		}
	}
	c.linux.Resources.Devices = nil
	return nil
}
