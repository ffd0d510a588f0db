package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

func kernelCommands() []command {
	return []command{
		{"syscalls", func([]string) { syscalls() }},
		{"namespaces", func([]string) { namespaces() }},
		{"sockets", func([]string) { sockets() }},
		{"foreign-calls", func([]string) { foreignCalls() }},
		{"debug", func([]string) { debug() }},
	}
}

// syscalls makes each system call that no cell has, with arguments that the kernel would take or that would fail otherwise
// than the filter does: EPERM before anything is looked at.
func syscalls() {
	r := newReport()
	for name, try := range merge(keys(), mounts(), machine(), interfaces(), queues()) {
		r.refusedWith(name, try(), unix.EPERM)
	}
	// Runtimes let calls that are newer than the whole profile fail as on a kernel without them.
	r.refusedWith("statmount", call(457, pointer(&[4]uint64{24}), pointer(&[64]uint64{}), 512, 0), unix.EPERM, unix.ENOSYS)
	r.refusedWith("listmount", call(458, pointer(&[4]uint64{24}), pointer(&[64]uint64{}), 64, 0), unix.EPERM, unix.ENOSYS)
	r.refusedWith("clone3", call(unix.SYS_CLONE3, pointer(&[11]uint64{}), 88), unix.ENOSYS)
	r.send()
}

type tries map[string]func() error

func merge(all ...tries) tries {
	m := tries{}
	for _, t := range all {
		for name, try := range t {
			m[name] = try
		}
	}
	return m
}

// plain is a try of a call with arguments.
func plain(number uintptr, args ...uintptr) func() error {
	return func() error { return call(number, args...) }
}

func keys() tries {
	const sessionKeyring, getKeyringID = ^uintptr(2), 0 // -3
	return tries{
		"keyctl":      plain(unix.SYS_KEYCTL, getKeyringID, sessionKeyring, 1),
		"add_key":     plain(unix.SYS_ADD_KEY, text("user"), text("hotcell"), text("secret"), 6, ^uintptr(1)),
		"request_key": plain(unix.SYS_REQUEST_KEY, text("user"), text("hotcell"), 0, 0),
	}
}

func mounts() tries {
	const here = ^uintptr(99) // AT_FDCWD
	return tries{
		"mount":             func() error { return unix.Mount("tmpfs", "/workspace", "tmpfs", 0, "") },
		"mount-bind":        func() error { return unix.Mount("/", "/workspace", "", unix.MS_BIND, "") },
		"mount-remount":     func() error { return unix.Mount("", "/", "", unix.MS_REMOUNT, "") },
		"mount-proc":        func() error { return unix.Mount("proc", "/workspace", "proc", 0, "") },
		"umount2":           func() error { return unix.Unmount("/proc/kcore", unix.MNT_DETACH) },
		"move_mount":        plain(unix.SYS_MOVE_MOUNT, here, text("/proc"), here, text("/workspace"), 0),
		"open_tree":         plain(unix.SYS_OPEN_TREE, here, text("/"), 1),
		"fsopen":            plain(unix.SYS_FSOPEN, text("tmpfs"), 0),
		"fsmount":           plain(unix.SYS_FSMOUNT, 0, 0, 0),
		"fsconfig":          plain(unix.SYS_FSCONFIG, 0, 0, 0, 0, 0),
		"fspick":            plain(unix.SYS_FSPICK, here, text("/"), 0),
		"mount_setattr":     plain(unix.SYS_MOUNT_SETATTR, here, text("/"), 0, pointer(&[4]uint64{}), 32),
		"pivot_root":        func() error { return unix.PivotRoot("/workspace", "/workspace") },
		"chroot":            func() error { return unix.Chroot("/workspace") },
		"name_to_handle_at": plain(unix.SYS_NAME_TO_HANDLE_AT, here, text("/"), pointer(&[34]uint32{128}), pointer(new(int32)), 0),
		"open_by_handle_at": plain(unix.SYS_OPEN_BY_HANDLE_AT, here, pointer(&[34]uint32{8, 1, 2}), 0),
		"quotactl":          plain(unix.SYS_QUOTACTL, 0, 0, 0, 0),
		"fanotify_init":     plain(unix.SYS_FANOTIFY_INIT, 0, 0),
	}
}

func machine() tries {
	t := tries{
		"init_module":   plain(unix.SYS_INIT_MODULE, pointer(&[64]byte{}), 64, text("")),
		"finit_module":  plain(unix.SYS_FINIT_MODULE, 0, text(""), 0),
		"delete_module": plain(unix.SYS_DELETE_MODULE, text("no_such_module"), unix.O_NONBLOCK),
		"kexec_load":    plain(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0),
		"reboot":        plain(unix.SYS_REBOOT, 0, 0, 0, 0), // with numbers that no kernel obeys
		"swapon":        func() error { return call(unix.SYS_SWAPON, text("/workspace/none"), 0) },
		"swapoff":       plain(unix.SYS_SWAPOFF, text("/workspace/none")),
		"acct":          plain(unix.SYS_ACCT, text("/workspace/none")),
		"syslog":        plain(unix.SYS_SYSLOG, 3, pointer(&[64]byte{}), 64),
		"sethostname":   func() error { return unix.Sethostname([]byte("host")) },
		"setdomainname": func() error { return unix.Setdomainname([]byte("domain")) },
		"vhangup":       plain(unix.SYS_VHANGUP),
		"clock_settime": plain(unix.SYS_CLOCK_SETTIME, 0, pointer(&unix.Timespec{Sec: time.Now().Unix()})),
		"settimeofday":  plain(unix.SYS_SETTIMEOFDAY, pointer(&unix.Timeval{Sec: time.Now().Unix()}), 0),
		"adjtimex":      func() error { return adjust(func(t *unix.Timex) error { _, err := unix.Adjtimex(t); return err }) },
		"clock_adjtime": func() error {
			return adjust(func(t *unix.Timex) error { _, err := unix.ClockAdjtime(0, t); return err })
		},
		"personality":       plain(unix.SYS_PERSONALITY, 0x0040000), // ADDR_NO_RANDOMIZE
		"personality-read":  plain(unix.SYS_PERSONALITY, 0x0400000), // READ_IMPLIES_EXEC
		"lookup_dcookie":    plain(unix.SYS_LOOKUP_DCOOKIE, 0, 0, 0),
		"process_madvise":   plain(unix.SYS_PROCESS_MADVISE, 0, 0, 0, 0, 0),
		"process_mrelease":  plain(448, 0, 0),
		"migrate_pages":     plain(unix.SYS_MIGRATE_PAGES, 1, 0, 0, 0),
		"move_pages":        plain(unix.SYS_MOVE_PAGES, 1, 0, 0, 0, 0, 0),
		"mbind":             plain(unix.SYS_MBIND, 0, 0, 0, 0, 0, 0),
		"set_mempolicy":     plain(unix.SYS_SET_MEMPOLICY, 1, 0, 0),
		"sched_setattr-one": plain(unix.SYS_SCHED_SETATTR, 1, pointer(&[14]uint32{56}), 0),
	}
	for name, try := range machineOf() {
		t[name] = try
	}
	return t
}

// adjust tries to change the clock's speed by nothing.
func adjust(with func(*unix.Timex) error) error {
	return with(&unix.Timex{Modes: unix.ADJ_FREQUENCY})
}

func interfaces() tries {
	return tries{
		"bpf":               plain(unix.SYS_BPF, 0, pointer(&[9]uint64{1<<32 | 2, 1<<32 | 4}), 72),
		"perf_event_open":   plain(unix.SYS_PERF_EVENT_OPEN, pointer(&unix.PerfEventAttr{Type: 1, Size: 112}), 0, ^uintptr(0), ^uintptr(0), 0),
		"userfaultfd":       plain(unix.SYS_USERFAULTFD, 1),
		"io_uring_setup":    plain(unix.SYS_IO_URING_SETUP, 4, pointer(&[30]uint32{})),
		"io_uring_enter":    plain(unix.SYS_IO_URING_ENTER, 0, 0, 0, 0, 0, 0),
		"io_uring_register": plain(unix.SYS_IO_URING_REGISTER, 0, 0, 0, 0),
		"ptrace":            plain(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0),
		"kcmp":              plain(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(os.Getpid()), 0, 0, 1),
		"pidfd_getfd":       plain(unix.SYS_PIDFD_GETFD, 0, 0, 0),
	}
}

func queues() tries {
	return tries{
		"mq_open": plain(unix.SYS_MQ_OPEN, text("hotcell"), unix.O_CREAT|unix.O_RDWR, 0o600, 0),
		"msgget":  plain(unix.SYS_MSGGET, 1, unix.IPC_CREAT|0o600),
	}
}

// namespaces tries to make and to enter namespaces, in every way there is.
func namespaces() {
	r := newReport()
	kinds := map[string]uintptr{
		"mnt": unix.CLONE_NEWNS, "cgroup": unix.CLONE_NEWCGROUP, "uts": unix.CLONE_NEWUTS, "ipc": unix.CLONE_NEWIPC,
		"user": unix.CLONE_NEWUSER, "pid": unix.CLONE_NEWPID, "net": unix.CLONE_NEWNET,
	}
	for name, flag := range kinds {
		r.refusedWith("unshare-"+name, call(unix.SYS_UNSHARE, flag), unix.EPERM)
		r.refusedWith("clone-"+name, clone(flag), unix.EPERM)
		r.refusedWith("clone-user-"+name, clone(flag|unix.CLONE_NEWUSER), unix.EPERM)
		fd, err := unix.Open("/proc/self/ns/"+name, unix.O_RDONLY, 0)
		if err == nil {
			err = unix.Setns(fd, 0)
		}
		r.refused("setns-"+name, err)
		fd, err = unix.Open("/proc/1/ns/"+name, unix.O_RDONLY, 0)
		if err == nil {
			err = unix.Setns(fd, int(flag))
		}
		r.refused("setns-of-1-"+name, err)
	}
	r.refusedWith("unshare-time", call(unix.SYS_UNSHARE, unix.CLONE_NEWTIME), unix.EPERM)
	r.refusedWith("clone3-user", call(unix.SYS_CLONE3, pointer(&[11]uint64{unix.CLONE_NEWUSER, 0, 0, 0, uint64(unix.SIGCHLD)}), 88), unix.ENOSYS)
	for _, file := range []string{"uid_map", "gid_map", "setgroups", "projid_map"} {
		r.refused("write-"+file, overwrite("/proc/self/"+file, "0 0 1"))
	}
	r.send()
}

// clone forks with flags. A child that should not be there ends at once.
func clone(flags uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return nil
}

// sockets tries each address family but the four that a cell has, and each protocol but TCP and UDP.
func sockets() {
	r := newReport()
	for family := 0; family < 48; family++ {
		switch family {
		case unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK:
			continue
		}
		for kind, name := range map[int]string{unix.SOCK_STREAM: "stream", unix.SOCK_DGRAM: "dgram", unix.SOCK_RAW: "raw", unix.SOCK_SEQPACKET: "seqpacket"} {
			_, err := unix.Socket(family, kind, 0)
			r.refusedWith(fmt.Sprintf("family-%d-%s", family, name), err, unix.EPERM)
		}
		_, err := unix.Socketpair(family, unix.SOCK_STREAM, 0)
		r.refusedWith(fmt.Sprintf("pair-%d", family), err, unix.EPERM)
	}
	for name, protocol := range map[string]int{
		"icmp": unix.IPPROTO_ICMP, "icmp6": unix.IPPROTO_ICMPV6, "sctp": unix.IPPROTO_SCTP, "mptcp": 262, "udplite": 136, "dccp": 33, "raw": 255, "l2tp": 115,
	} {
		for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
			for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW} {
				_, err := unix.Socket(family, kind, protocol)
				r.refusedWith(fmt.Sprintf("inet-%d-%s-%d", family, name, kind), err, unix.EPERM)
			}
		}
	}
	_, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP)
	r.refused("raw-tcp", err)
	for protocol := 1; protocol < 32; protocol++ {
		_, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, protocol)
		r.refusedWith(fmt.Sprintf("netlink-%d", protocol), err, unix.EPERM)
	}
	r.send()
}

// foreignCalls uses the calling conventions of other programs, whose numbers mean something else. Each ends its process,
// or fails where another kernel stands in.
func foreignCalls() {
	r := newReport()
	if runtime.GOARCH == "amd64" {
		const x32 = 0x40000000
		for name, number := range map[string]uintptr{"int80": 0, "x32-getpid": x32 | unix.SYS_GETPID, "x32-ptrace": x32 | 521} {
			st := inChild(number)
			killed, refused := st.Signaled() && st.Signal() == unix.SIGSYS, st.Exited() && st.ExitStatus() == refusedCall
			r.holds(name, killed || refused, "status %#x", uint32(st))
		}
	}
	r.refusedWith("beyond-the-table", call(100000), unix.EPERM, unix.ENOSYS)
	r.send()
}

// How a child ends that survives its system call.
const (
	madeCall    = 41
	refusedCall = 42
)

// inChild makes a system call in a process of its own, of one thread, and returns how that ended; number 0 stands for the
// 32-bit call.
func inChild(number uintptr) unix.WaitStatus {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		end := uintptr(refusedCall)
		if number == 0 {
			if compatGetpid() >= 0 {
				end = madeCall
			}
		} else if _, _, errno := unix.RawSyscall(number, 0, 0, 0); errno == 0 {
			end = madeCall
		}
		for {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, end, 0, 0)
		}
	}
	if errno != 0 {
		must(errno)
	}
	var st unix.WaitStatus
	_, err := unix.Wait4(int(pid), &st, 0, nil)
	must(err)
	return st
}

// debug tries to look into a process of its own and to steer it.
func debug() {
	r := newReport()
	child := start("sleep")
	pid := uintptr(child.Process.Pid)
	b := []byte("x")
	local := []unix.Iovec{{Base: &b[0], Len: 1}}
	remote := []unix.RemoteIovec{{Base: uintptr(pointer(&b[0])), Len: 1}}
	_, err := unix.ProcessVMReadv(int(pid), local, remote, 0)
	r.refusedWith("process_vm_readv", err, unix.EPERM)
	_, err = unix.ProcessVMWritev(int(pid), local, remote, 0)
	r.refusedWith("process_vm_writev", err, unix.EPERM)
	r.refusedWith("ptrace-attach", unix.PtraceAttach(int(pid)), unix.EPERM)
	r.refusedWith("ptrace-seize", call(unix.SYS_PTRACE, 0x4206, pid, 0, 0), unix.EPERM)
	fd, err := unix.PidfdOpen(int(pid), 0)
	must(err)
	_, err = unix.PidfdGetfd(fd, 1, 0)
	r.refusedWith("pidfd_getfd", err, unix.EPERM)
	r.refusedWith("prlimit-child", call(unix.SYS_PRLIMIT64, pid, unix.RLIMIT_NOFILE, pointer(&unix.Rlimit{Cur: 8, Max: 8}), 0), unix.EPERM)
	must(child.Process.Kill())
	_ = child.Wait()
	r.send()
}

// overwrite opens a file for writing and writes to it.
func overwrite(path, text string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}
