package oci

import (
	"github.com/hotcell/hotcell/sandbox/cgroup"
	"github.com/hotcell/hotcell/sandbox/demands"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// namespaces: all of them, each the cell's own. A runtime brings up the loopback device of a new network namespace, and
// nothing else is in it.
func (c *conversion) namespaces() error {
	if err := c.left.Namespaces(); err != nil {
		return err
	}
	for _, kind := range demands.Namespaces() {
		c.out.Linux.Namespaces = append(c.out.Linux.Namespaces, specs.LinuxNamespace{Type: kind})
	}
	c.out.Linux.RootfsPropagation = "rprivate"
	return nil
}

// memory: a limit, and no swap beyond it. The call's limit is that of the group around the cell; the cell's own is a
// little higher, so that ours is the one that is hit.
func (c *conversion) memory() error {
	limit, err := c.left.Memory()
	limit += cgroup.Slack
	c.out.Linux.Resources.Memory = &specs.LinuxMemory{Limit: &limit, Swap: &limit}
	return err
}

// cpu is a hard cap, and a weight against others.
func (c *conversion) cpu() error {
	cpu, err := c.left.CPU()
	if err != nil {
		return err
	}
	out := &specs.LinuxCPU{}
	if cpu.Quota > 0 {
		out.Quota, out.Period = &cpu.Quota, &cpu.Period
	}
	if cpu.Shares > 0 {
		out.Shares = &cpu.Shares
	}
	c.out.Linux.Resources.CPU = out
	return nil
}

func (c *conversion) pids() error {
	limit, err := c.left.PIDs()
	c.out.Linux.Resources.Pids = &specs.LinuxPids{Limit: &limit}
	return err
}

// devices: a runtime's few harmless ones.
func (c *conversion) devices() error {
	c.out.Linux.Resources.Devices = []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}
	return c.left.Devices()
}
