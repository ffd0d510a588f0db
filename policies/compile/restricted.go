package compile

import (
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// The address families of sockets that a cell may open. Without a network they reach the cell itself.
const (
	afUnix    = 1
	afInet    = 2
	afInet6   = 10
	afNetlink = 16
)

// The protocols of internet sockets that a cell may open: the family's default, TCP and UDP. Anything else would have the
// kernel load a module.
const (
	ipDefault = 0
	ipTCP     = 6
	ipUDP     = 17
)

// netlinkRoute is how the C library asks which addresses there are.
const netlinkRoute = 0

// newNamespaces are the flags of clone that make one: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
const newNamespaces = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000

// restricted returns the rules that look at arguments. Arguments of one rule must all match; of several rules for one call
// one suffices, so each says what is allowed and none what is not. No argument is looked at twice within a rule, which
// some runtimes take as alternatives.
func restricted() []specs.LinuxSyscall {
	return slices.Concat(threads(), sockets(), socketOptions(), personalities(), ownLimits(), ownSchedule(), smallPages())
}

// threads allows new processes and threads without new namespaces. The flags of clone3 lie in memory, so it does not
// exist (ENOSYS), and the C library takes clone. That is what a call to be traced is without a tracer, and there is none
// since ptrace is denied; an errno of its own says the same to runc, but gVisor makes EPERM of every errno.
func threads() []specs.LinuxSyscall {
	return []specs.LinuxSyscall{
		allowIf("clone", specs.LinuxSeccompArg{Index: 0, Value: newNamespaces, ValueTwo: 0, Op: specs.OpMaskedEqual}),
		{Names: []string{"clone3"}, Action: specs.ActTrace},
	}
}

// sockets allows unix sockets, TCP and UDP, and netlink for routes. So AF_ALG, AF_VSOCK, AF_PACKET and all the others fail.
func sockets() []specs.LinuxSyscall {
	rules := []specs.LinuxSyscall{
		allowIf("socket", equal(0, afUnix)),
		allowIf("socket", equal(0, afNetlink), equal(2, netlinkRoute)),
		allowIf("socketpair", equal(0, afUnix)),
	}
	for _, family := range []uint64{afInet, afInet6} {
		for _, protocol := range []uint64{ipDefault, ipTCP, ipUDP} {
			rules = append(rules, allowIf("socket", equal(0, family), equal(2, protocol)))
		}
	}
	return rules
}

// solSocket is the level of the options that every socket has.
const solSocket = 1

// optionLevels are the levels of options that a cell may set without a further look: IP, TCP, UDP, IPv6, netlink.
var optionLevels = []uint64{0, 6, 17, 41, 270}

// socketOptions allows all options but the four that attach a filter program (26, and 50 to 52). The kernel compiles those
// into memory that is no cell's and that all users share: used up, it lets no further cell have its own seccomp filter.
func socketOptions() []specs.LinuxSyscall {
	var rules []specs.LinuxSyscall
	for _, level := range optionLevels {
		rules = append(rules, allowIf("setsockopt", equal(1, level)))
	}
	for _, block := range []struct{ first, size uint64 }{
		{0, 16}, {16, 8}, {24, 2}, {27, 1}, {28, 4}, {32, 16}, {48, 2}, {53, 1}, {54, 2}, {56, 8}, {64, 64},
	} {
		options := specs.LinuxSeccompArg{Index: 2, Value: ^(block.size - 1), ValueTwo: block.first, Op: specs.OpMaskedEqual}
		rules = append(rules, allowIf("setsockopt", equal(1, solSocket), options))
	}
	return rules
}

// smallPages allows memory of all kinds but huge pages: their pool is the machine's, and no memory limit counts it.
func smallPages() []specs.LinuxSyscall {
	const mapHugeTLB, memfdHugeTLB, shmHugeTLB = 0x40000, 0x4, 0o4000
	without := func(index uint, flag uint64) specs.LinuxSeccompArg {
		return specs.LinuxSeccompArg{Index: index, Value: flag, ValueTwo: 0, Op: specs.OpMaskedEqual}
	}
	return []specs.LinuxSyscall{
		allowIf("mmap", without(3, mapHugeTLB)),
		allowIf("memfd_create", without(1, memfdHugeTLB)),
		allowIf("shmget", without(2, shmHugeTLB)),
	}
}

// personalities allows the ones that engines allow: Linux, its 32-bit variants of uname, and asking.
func personalities() []specs.LinuxSyscall {
	var rules []specs.LinuxSyscall
	for _, persona := range []uint64{0x0, 0x0008, 0x20000, 0x20008, 0xffffffff} {
		rules = append(rules, allowIf("personality", equal(0, persona)))
	}
	return rules
}

// ownLimits lets a process ask for and lower its own limits, by the pid 0, but not those of the runner.
func ownLimits() []specs.LinuxSyscall {
	return []specs.LinuxSyscall{allowIf("prlimit64", equal(0, 0))}
}

// What setpriority and ioprio_set call "a process".
const (
	prioProcess   = 0
	ioprioProcess = 1
)

// ownSchedule lets a thread change its own scheduling, by the id 0, but nobody else's: a runner that is made idle beside
// busy children starves within its own cell's share, and cannot even be killed.
func ownSchedule() []specs.LinuxSyscall {
	return []specs.LinuxSyscall{
		{Names: []string{"sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"}, Action: specs.ActAllow, Args: []specs.LinuxSeccompArg{equal(0, 0)}},
		allowIf("setpriority", equal(0, prioProcess), equal(1, 0)),
		allowIf("ioprio_set", equal(0, ioprioProcess), equal(1, 0)),
	}
}

func allowIf(name string, args ...specs.LinuxSeccompArg) specs.LinuxSyscall {
	return specs.LinuxSyscall{Names: []string{name}, Action: specs.ActAllow, Args: args}
}

func equal(index uint, value uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: value, Op: specs.OpEqualTo}
}
