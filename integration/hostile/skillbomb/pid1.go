package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func pid1Commands() []command {
	return []command{
		{"runner", func([]string) { attackRunner() }},
		{"runner-signals", func([]string) { signalRunner() }},
		{"kill-everyone", func([]string) { killEveryone() }},
	}
}

// attackRunner tries to reach into PID 1, which has the same uid.
func attackRunner() {
	r := newReport()
	for _, name := range strings.Fields("fd/0 fd/1 fd/2 mem environ maps smaps auxv stack syscall exe cwd/. root/. pagemap personality io map_files ns/net") {
		n, err := read("/proc/1/" + name)
		r.holds("read-"+name, err != nil, "%d bytes, %v", n, err)
	}
	for _, name := range strings.Fields("fd/0 fd/1 fd/2 mem oom_score_adj clear_refs coredump_filter comm sched autogroup timerslack_ns task/1/comm task/1/mem") {
		r.refused("write-"+name, overwrite("/proc/1/"+name, "0"))
	}
	entries, err := os.ReadDir("/proc/1/fd")
	r.refused("list-fd", err)
	r.Tried["list-fd-found"] = fmt.Sprint(len(entries))
	r.refused("ptrace-attach", unix.PtraceAttach(1))
	r.refused("ptrace-seize", call(unix.SYS_PTRACE, 0x4206, 1, 0, 0))
	b := []byte("x")
	_, err = unix.ProcessVMReadv(1, []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: 0x400000, Len: 1}}, 0)
	r.refused("process_vm_readv", err)
	fd, err := unix.PidfdOpen(1, 0)
	if err == nil {
		_, err = unix.PidfdGetfd(fd, 1, 0)
	}
	r.refused("pidfd_getfd", err)
	limit := unix.Rlimit{Cur: 1, Max: 1}
	for name, resource := range map[string]uintptr{
		"as": unix.RLIMIT_AS, "nofile": unix.RLIMIT_NOFILE, "fsize": unix.RLIMIT_FSIZE, "cpu": unix.RLIMIT_CPU, "stack": unix.RLIMIT_STACK, "data": unix.RLIMIT_DATA,
	} {
		r.refused("prlimit-"+name, call(unix.SYS_PRLIMIT64, 1, resource, pointer(&limit), 0))
	}
	holdBack(r)
	r.send()
}

// holdBack tries to make PID 1 slow: idle beside busy processes, on another processor, last in every queue.
func holdBack(r *report) {
	param := int32(0)
	r.refused("sched-idle", call(unix.SYS_SCHED_SETSCHEDULER, 1, 5, pointer(&param)))
	r.refused("sched-param", call(unix.SYS_SCHED_SETPARAM, 1, pointer(&param)))
	r.refused("sched-attr", call(unix.SYS_SCHED_SETATTR, 1, pointer(&[14]uint32{48, 5}), 0))
	r.refused("affinity", call(unix.SYS_SCHED_SETAFFINITY, 1, 8, pointer(&[1]uint64{1})))
	r.refused("nice", unix.Setpriority(unix.PRIO_PROCESS, 1, 19))
	r.refused("nice-group", unix.Setpriority(unix.PRIO_PGRP, 1, 19))
	r.refused("nice-user", unix.Setpriority(unix.PRIO_USER, os.Getuid(), 19))
	const idle = 3 << 13
	r.refused("ioprio", call(unix.SYS_IOPRIO_SET, 1, 1, idle))
	r.refused("ioprio-group", call(unix.SYS_IOPRIO_SET, 2, 1, idle))
	r.refused("ioprio-user", call(unix.SYS_IOPRIO_SET, 3, uintptr(os.Getuid()), idle))
	r.refused("setpgid", unix.Setpgid(1, os.Getpid()))
	r.refused("process_madvise", call(unix.SYS_PROCESS_MADVISE, 0, 0, 0, 21, 0))
}

// siginfo is what rt_sigqueueinfo takes.
type siginfo struct {
	signo, _, code int32
	_              int32
	pid            int32
	uid            uint32
	_              [12]uint64
}

// signalRunner sends PID 1 every signal there is, in every way there is, many times. It is still there to take the result.
func signalRunner() {
	r := newReport()
	sent := 0
	for round := range 50 {
		for s := 1; s <= 64; s++ {
			if unix.Kill(1, unix.Signal(s)) == nil {
				sent++
			}
			info := siginfo{signo: int32(s), code: -1, pid: int32(os.Getpid()), uid: uint32(os.Getuid())}
			_ = call(unix.SYS_RT_SIGQUEUEINFO, 1, uintptr(s), pointer(&info))
			_ = call(unix.SYS_TGKILL, 1, 1, uintptr(s))
			if round == 0 {
				forged := siginfo{signo: int32(s), code: 0x80, pid: 0} // as if the kernel had sent it
				r.refused(fmt.Sprintf("forged-%d", s), call(unix.SYS_RT_SIGQUEUEINFO, 1, uintptr(s), pointer(&forged)))
			}
		}
	}
	r.holds("sent", sent > 0, "%d", sent)
	if fd, err := unix.PidfdOpen(1, 0); err == nil {
		for s := 1; s <= 64; s++ {
			_ = unix.PidfdSendSignal(fd, unix.Signal(s), nil, 0)
		}
	}
	signalByFile()
	_, err := os.Stat("/proc/1/status")
	r.works("alive", err)
	r.send()
}

// signalByFile makes the kernel itself send PID 1 signals, as the owner of a pipe.
func signalByFile() {
	for _, s := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP, unix.SIGSEGV, unix.SIGQUIT, 40} {
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		must(err)
		_ = call(unix.SYS_FCNTL, uintptr(p[0]), unix.F_SETOWN, 1)
		_ = call(unix.SYS_FCNTL, uintptr(p[0]), unix.F_SETSIG, uintptr(s))
		_ = call(unix.SYS_FCNTL, uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK)
		for range 100 {
			_, _ = unix.Write(p[1], []byte("x"))
		}
		_ = unix.Close(p[0])
		_ = unix.Close(p[1])
	}
}

// killEveryone sends to all that it may, at once.
func killEveryone() {
	r := newReport()
	child := start("sleep")
	r.works("kill-all", unix.Kill(-1, unix.SIGKILL)) // all but itself and PID 1
	_ = child.Wait()
	r.Tried["stop-all"] = word(unix.Kill(-1, unix.SIGSTOP))

	_, err := os.Stat("/proc/1/status")
	r.works("alive", err)
	r.send()
}
