package compile

import (
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// namespaces gives the cell new ones of every kind that an engine shares out. The network's is empty: it has a loopback
// interface and nothing else, whatever the policy allows. What is allowed goes through the wall.
func namespaces(spec *sandbox.Spec, _ policies.Effective, _ Workload) error {
	for _, kind := range []specs.LinuxNamespaceType{
		specs.PIDNamespace, specs.MountNamespace, specs.IPCNamespace,
		specs.UTSNamespace, specs.NetworkNamespace, specs.CgroupNamespace,
	} {
		spec.OCI.Linux.Namespaces = append(spec.OCI.Linux.Namespaces, specs.LinuxNamespace{Type: kind})
	}
	return nil
}

// hiddenPaths hides what the kernel tells about the host and makes its switches read-only. These are the lists that
// engines have as their defaults, and three more. The host's load in /proc/pressure, which anybody may have the kernel watch;
// terminals, of which all cells together can have only so many; and /dev, which some runtimes give the mode that it has in
// the image: it would be one more writable place.
func hiddenPaths(spec *sandbox.Spec, _ policies.Effective, _ Workload) error {
	spec.OCI.Linux.MaskedPaths = []string{
		"/dev/pts", "/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/pressure",
		"/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
		"/sys/devices/virtual/powercap", "/sys/firmware",
	}
	spec.OCI.Linux.ReadonlyPaths = []string{
		"/dev", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger",
	}
	return nil
}
