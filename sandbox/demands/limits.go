package demands

import (
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Namespaces are the kinds that each cell has of its own: all but users.
func Namespaces() []specs.LinuxNamespaceType {
	return []specs.LinuxNamespaceType{
		specs.PIDNamespace, specs.NetworkNamespace, specs.MountNamespace, specs.IPCNamespace, specs.UTSNamespace, specs.CgroupNamespace,
	}
}

// Namespaces takes the namespaces: all of [Namespaces], each the cell's own.
func (l *Left) Namespaces() error {
	for _, kind := range Namespaces() {
		if !oneOf(l.Linux.Namespaces, kind) {
			return unsupported("linux.namespaces: a cell has a %s namespace of its own", kind)
		}
	}
	if len(l.Linux.Namespaces) > len(Namespaces()) {
		return unsupported("linux.namespaces: others than pid, network, mount, ipc, uts and cgroup")
	}
	l.Linux.Namespaces = nil
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

// resources are those that are left, in a copy of their own.
func (l *Left) resources() (*specs.LinuxResources, error) {
	if l.Linux.Resources == nil {
		return nil, unsupported("linux.resources: must be set")
	}
	r := *l.Linux.Resources
	l.Linux.Resources = &r
	return &r, nil
}

// Memory takes the limit, beyond which there is no swap.
func (l *Left) Memory() (limit int64, err error) {
	r, err := l.resources()
	if err != nil {
		return 0, err
	}
	if r.Memory == nil || r.Memory.Limit == nil || *r.Memory.Limit <= 0 {
		return 0, unsupported("linux.resources.memory.limit: must be set")
	}
	m := *r.Memory
	if m.Swap != nil && *m.Swap != *m.Limit {
		return 0, unsupported("linux.resources.memory.swap: must be equal to the limit, which means no swap")
	}
	limit = *m.Limit
	m.Limit, m.Swap = nil, nil
	r.Memory = &m
	return limit, nil
}

// CPU is a hard cap, and a weight against others. Zero is: none.
type CPU struct {
	Quota  int64
	Period uint64 // of the quota, microseconds
	Shares uint64
}

// CPU takes what there is of both.
func (l *Left) CPU() (CPU, error) {
	r, err := l.resources()
	if err != nil || r.CPU == nil {
		return CPU{}, err
	}
	c, out := *r.CPU, CPU{}
	if c.Quota != nil && *c.Quota > 0 {
		out.Quota, out.Period = *c.Quota, 100_000
		if c.Period != nil && *c.Period > 0 {
			out.Period = *c.Period
		}
		if out.Period > 1_000_000 || out.Quota > 1_000_000_000 {
			return CPU{}, unsupported("linux.resources.cpu: quota %d in period %d", out.Quota, out.Period)
		}
	}
	if c.Shares != nil {
		if out.Shares = *c.Shares; out.Shares > 262_144 {
			return CPU{}, unsupported("linux.resources.cpu.shares: %d is more than 262144", out.Shares)
		}
	}
	c.Quota, c.Period, c.Shares = nil, nil, nil
	r.CPU = &c
	return out, nil
}

// PIDs takes how many processes there may be.
func (l *Left) PIDs() (limit int64, err error) {
	r, err := l.resources()
	if err != nil {
		return 0, err
	}
	if r.Pids == nil || r.Pids.Limit == nil || *r.Pids.Limit <= 0 {
		return 0, unsupported("linux.resources.pids.limit: must be set")
	}
	limit = *r.Pids.Limit
	r.Pids = nil
	return limit, nil
}

// Devices takes rules that permit none beyond the few harmless ones that every runtime makes.
func (l *Left) Devices() error {
	r, err := l.resources()
	if err != nil {
		return err
	}
	for _, d := range r.Devices {
		if d.Allow {
			return unsupported("linux.resources.devices: allows %s %s", d.Type, d.Access)
		}
	}
	r.Devices = nil
	return nil
}

// Masked are the paths that engines and runtimes hide by themselves when they are given no list;
// newer ones have more.
func Masked() []string {
	return []string{
		"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
		"/proc/timer_list", "/proc/timer_stats", "/sys/firmware",
	}
}

// ReadOnly are the paths that they protect: see [Masked].
func ReadOnly() []string {
	return []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
}

// Paths takes what else is to be hidden and protected.
func (l *Left) Paths() (masked, readOnly []string) {
	masked, readOnly = l.Linux.MaskedPaths, l.Linux.ReadonlyPaths
	l.Linux.MaskedPaths, l.Linux.ReadonlyPaths = nil, nil
	return masked, readOnly
}
