package compile_test

import (
	"slices"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/hotcell/hotcell/policies"
)

func seccompOf(t *testing.T, arch string) *specs.LinuxSeccomp {
	t.Helper()
	w := workload()
	w.Arch = arch
	return mustCompile(t, narrow(t, policies.Policy{}, policies.Policy{}, policies.Policy{}), w).OCI.Linux.Seccomp
}

// verdict is what the kernel does with a call: 0 when it is allowed, else the errno.
func verdict(p *specs.LinuxSeccomp, name string, args ...uint64) uint {
	for _, rule := range p.Syscalls {
		if !slices.Contains(rule.Names, name) || !matches(rule.Args, args) {
			continue
		}
		switch rule.Action {
		case specs.ActAllow:
			return 0
		case specs.ActTrace:
			return 38 // ENOSYS, since nobody traces
		}
		panic("unknown action " + rule.Action)
	}
	return *p.DefaultErrnoRet
}

func matches(conditions []specs.LinuxSeccompArg, args []uint64) bool {
	for _, c := range conditions {
		var arg uint64
		if int(c.Index) < len(args) {
			arg = args[c.Index]
		}
		switch c.Op {
		case specs.OpEqualTo:
			if arg != c.Value {
				return false
			}
		case specs.OpMaskedEqual:
			if arg&c.Value != c.ValueTwo {
				return false
			}
		default:
			panic("unknown operator " + c.Op)
		}
	}
	return true
}

func TestSeccompGolden(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		golden(t, "seccomp-"+arch, seccompOf(t, arch))
	}
}

func TestSeccompDenies(t *testing.T) {
	names := []string{
		"io_uring_setup", "io_uring_enter", "io_uring_register", "ptrace", "process_vm_readv", "process_vm_writev", "bpf",
		"perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "mount", "umount", "umount2", "mount_setattr",
		"move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "pivot_root", "chroot", "unshare", "setns",
		"name_to_handle_at", "open_by_handle_at", "kexec_load", "kexec_file_load", "quotactl", "quotactl_fd", "mq_open",
		"mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr", "msgget", "msgsnd", "msgrcv", "msgctl",
		"pidfd_getfd", "process_madvise", "process_mrelease", "kcmp", "swapon", "swapoff", "reboot", "sethostname",
		"setdomainname", "syslog", "init_module", "finit_module", "delete_module", "iopl", "ioperm", "acct", "settimeofday",
		"clock_settime", "vhangup", "fanotify_init", "fanotify_mark", "socketcall", "ipc", "modify_ldt", "statmount", "listmount",
		"io_setup", "io_submit", "sync", "syncfs", "lookup_dcookie", "migrate_pages", "move_pages", "set_mempolicy", "nfsservctl", "uselib", "no_such_call",
	}
	for _, arch := range []string{"amd64", "arm64"} {
		p := seccompOf(t, arch)
		for _, name := range names {
			if got := verdict(p, name); got != 1 {
				t.Errorf("%s: %s gives %d, want EPERM", arch, name, got)
			}
		}
		if got := verdict(p, "clone3"); got != 38 {
			t.Errorf("%s: clone3 gives %d, want ENOSYS", arch, got)
		}
	}
}

func TestSeccompLooksAtArguments(t *testing.T) {
	const eperm = 1
	type call struct {
		name string
		args []uint64
		want uint
	}
	calls := []call{
		{"clone", []uint64{17}, 0}, // fork
		{"clone", []uint64{0x003d0f00}, 0},
		{"clone", []uint64{0x1100 | 17}, 0}, // with a pidfd
		{"clone", []uint64{0x10000000 | 17}, eperm},
		{"clone", []uint64{0x7e020000 | 17}, eperm},
		{"socket", []uint64{1, 5, 0}, 0},
		{"socket", []uint64{2, 1, 0}, 0},
		{"socket", []uint64{2, 1, 6}, 0},
		{"socket", []uint64{10, 2, 17}, 0},
		{"socket", []uint64{16, 3, 0}, 0},
		{"socket", []uint64{16, 3, 12}, eperm},  // netfilter
		{"socket", []uint64{2, 1, 132}, eperm},  // SCTP
		{"socket", []uint64{10, 1, 262}, eperm}, // MPTCP
		{"socket", []uint64{17, 3, 0}, eperm},   // packet
		{"socket", []uint64{38, 5, 0}, eperm},   // AF_ALG
		{"socket", []uint64{40, 1, 0}, eperm},   // AF_VSOCK
		{"socket", []uint64{1<<32 | 38, 5, 0}, eperm},
		{"socketpair", []uint64{1, 1, 0}, 0},
		{"socketpair", []uint64{30, 1, 0}, eperm},         // TIPC
		{"setsockopt", []uint64{3, 1, 2}, 0},              // SO_REUSEADDR
		{"setsockopt", []uint64{3, 1, 25}, 0},             // SO_BINDTODEVICE
		{"setsockopt", []uint64{3, 1, 26}, eperm},         // SO_ATTACH_FILTER
		{"setsockopt", []uint64{3, 1, 1<<32 | 26}, eperm}, // the same to the kernel
		{"setsockopt", []uint64{3, 1<<32 | 1, 26}, eperm},
		{"setsockopt", []uint64{3, 1, 27}, 0},
		{"setsockopt", []uint64{3, 1, 49}, 0},
		{"setsockopt", []uint64{3, 1, 50}, eperm}, // SO_ATTACH_BPF
		{"setsockopt", []uint64{3, 1, 51}, eperm},
		{"setsockopt", []uint64{3, 1, 52}, eperm},
		{"setsockopt", []uint64{3, 1, 53}, 0},
		{"setsockopt", []uint64{3, 1, 83}, 0},
		{"setsockopt", []uint64{3, 6, 1}, 0},       // TCP_NODELAY
		{"setsockopt", []uint64{3, 41, 26}, 0},     // IPV6_V6ONLY
		{"setsockopt", []uint64{3, 263, 1}, eperm}, // AF_PACKET's
		{"mmap", []uint64{0, 4096, 3, 0x22}, 0},
		{"mmap", []uint64{0, 4096, 3, 0x40022}, eperm}, // huge pages
		{"memfd_create", []uint64{0, 3}, 0},
		{"memfd_create", []uint64{0, 4}, eperm},
		{"shmget", []uint64{1, 4096, 0o1600}, 0},
		{"shmget", []uint64{1, 4096, 0o5600}, eperm},
		{"personality", []uint64{0xffffffff}, 0},
		{"personality", []uint64{0x0040000}, eperm}, // no address randomisation
		{"sched_setscheduler", []uint64{0, 5}, 0},
		{"sched_setscheduler", []uint64{1, 5}, eperm},
		{"sched_setparam", []uint64{1}, eperm},
		{"sched_setattr", []uint64{1}, eperm},
		{"sched_setaffinity", []uint64{0}, 0},
		{"sched_setaffinity", []uint64{1}, eperm},
		{"setpriority", []uint64{0, 0, 5}, 0},
		{"setpriority", []uint64{0, 1, 19}, eperm},
		{"setpriority", []uint64{1, 0, 19}, eperm}, // the process group
		{"setpriority", []uint64{2, 0, 19}, eperm}, // all of the user's
		{"ioprio_set", []uint64{1, 0}, 0},
		{"ioprio_set", []uint64{1, 1}, eperm},
		{"ioprio_set", []uint64{3, 0}, eperm},
		{"prlimit64", []uint64{0, 7}, 0},
		{"prlimit64", []uint64{1, 7}, eperm},
		{"prlimit64", []uint64{1 << 32, 7}, eperm},
	}
	// What an interpreter, its threads and its children cannot do without.
	for _, name := range []string{
		"read", "write", "execve", "execveat", "futex", "wait4", "waitid", "kill", "exit_group", "mmap", "mprotect", "prctl",
		"rt_sigaction", "openat", "getrandom", "epoll_pwait", "eventfd2", "pidfd_open", "memfd_create", "seccomp", "rseq",
		"connect", "accept4", "sendmsg", "recvmsg", "sched_getaffinity", "statx", "newfstatat", "mknodat", "shmget", "semop",
	} {
		calls = append(calls, call{name, nil, 0})
	}
	for _, arch := range []string{"amd64", "arm64"} {
		p := seccompOf(t, arch)
		for _, c := range calls {
			if got := verdict(p, c.name, c.args...); got != c.want {
				t.Errorf("%s: %s%v gives %d, want %d", arch, c.name, c.args, got, c.want)
			}
		}
	}
}

// A profile is for the architecture of the image, not for the one that compiles it.
func TestSeccompArchitecture(t *testing.T) {
	for arch, want := range map[string]struct {
		arch      specs.Arch
		has, lack string
	}{
		"amd64": {specs.ArchX86_64, "arch_prctl", "sync_file_range2"},
		"arm64": {specs.ArchAARCH64, "sync_file_range2", "arch_prctl"},
	} {
		p := seccompOf(t, arch)
		if !slices.Equal(p.Architectures, []specs.Arch{want.arch}) {
			t.Errorf("%s: architectures %v", arch, p.Architectures)
		}
		if verdict(p, want.has) != 0 || verdict(p, want.lack) == 0 {
			t.Errorf("%s: %s gives %d, %s gives %d", arch, want.has, verdict(p, want.has), want.lack, verdict(p, want.lack))
		}
	}
}

// A name in two rules with different actions, or an argument looked at twice in one rule, means different things to
// different runtimes.
func TestSeccompIsUnambiguous(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		actions := map[string]specs.LinuxSeccompAction{}
		conditional := map[string]bool{}
		for _, rule := range seccompOf(t, arch).Syscalls {
			seen := map[uint]bool{}
			for _, arg := range rule.Args {
				if seen[arg.Index] {
					t.Errorf("%s: %v looks at argument %d twice", arch, rule.Names, arg.Index)
				}
				seen[arg.Index] = true
			}
			for _, name := range rule.Names {
				if action, ok := actions[name]; ok && (action != rule.Action || !conditional[name] || len(rule.Args) == 0) {
					t.Errorf("%s: %s has several rules that differ", arch, name)
				}
				actions[name], conditional[name] = rule.Action, len(rule.Args) > 0
			}
		}
	}
}
