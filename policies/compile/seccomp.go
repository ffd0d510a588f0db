package compile

import (
	"slices"
	"sync"

	"github.com/moby/profiles/seccomp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// eperm is an errno of Linux, the same on every architecture that cells run on.
const eperm uint = 1

// syscalls filters system calls. Only the architecture's own calling convention is open: a 32-bit call, whose arguments a
// filter cannot see, ends the thread.
func syscalls(spec *sandbox.Spec, _ policies.Effective, w Workload) error {
	known, ok := profiles.Load(w.Arch)
	if !ok {
		known, _ = profiles.LoadOrStore(w.Arch, profile(w.Arch))
	}
	spec.OCI.Linux.Seccomp = copyOf(known.(*specs.LinuxSeccomp))
	return nil
}

// profiles holds the profile of each architecture once it is made, which takes longer than all else of a spec.
var profiles sync.Map

func copyOf(p *specs.LinuxSeccomp) *specs.LinuxSeccomp {
	c := *p
	errno := *p.DefaultErrnoRet
	c.DefaultErrnoRet = &errno
	c.Architectures = slices.Clone(p.Architectures)
	c.Syscalls = slices.Clone(p.Syscalls)
	for i, rule := range c.Syscalls {
		c.Syscalls[i].Names, c.Syscalls[i].Args = slices.Clone(rule.Names), slices.Clone(rule.Args)
		if rule.ErrnoRet != nil {
			errno := *rule.ErrnoRet
			c.Syscalls[i].ErrnoRet = &errno
		}
	}
	return &c
}

// profile is the engine's default profile for a process without capabilities on an architecture (GOARCH word), less what
// [denied] lists, with [restricted] in place of the rules that look at arguments. What is not allowed fails with EPERM.
func profile(arch string) *specs.LinuxSeccomp {
	errno := eperm
	allow := specs.LinuxSyscall{Action: specs.ActAllow}
	for _, rule := range seccomp.DefaultProfile().Syscalls {
		if rule.Action == specs.ActAllow && len(rule.Args) == 0 && applies(rule, arch) {
			allow.Names = append(allow.Names, rule.Names...)
		}
	}
	special := restricted()
	allow.Names = slices.DeleteFunc(allow.Names, func(name string) bool {
		return slices.Contains(denied(), name) || slices.ContainsFunc(special, func(rule specs.LinuxSyscall) bool {
			return slices.Contains(rule.Names, name)
		})
	})
	slices.Sort(allow.Names)
	allow.Names = slices.Compact(allow.Names)
	return &specs.LinuxSeccomp{
		DefaultAction:   specs.ActErrno,
		DefaultErrnoRet: &errno,
		Architectures:   []specs.Arch{seccompArch(arch)},
		Syscalls:        append([]specs.LinuxSyscall{allow}, special...),
	}
}

func seccompArch(arch string) specs.Arch {
	if arch == "arm64" {
		return specs.ArchAARCH64
	}
	return specs.ArchX86_64
}

// applies reports whether a rule of the default profile is meant for a process without capabilities. Rules for newer
// kernels only are left out, since the kernel is not known here.
func applies(rule *seccomp.Syscall, arch string) bool {
	if in := rule.Includes; in != nil {
		if len(in.Caps) > 0 || in.MinKernel != nil || len(in.Arches) > 0 && !slices.Contains(in.Arches, arch) {
			return false
		}
	}
	ex := rule.Excludes
	return ex == nil || ex.MinKernel == nil && !slices.Contains(ex.Arches, arch)
}
