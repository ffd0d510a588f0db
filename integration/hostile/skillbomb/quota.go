package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func quotaCommands() []command {
	return []command{
		{"exhaust", func(args []string) { exhaust(args[0]) }},
		{"exhaust-part", func(args []string) { exhaustPart(args[0]) }},
		{"own-quotas", func([]string) { ownQuotas() }},
		{"shared-quotas", func([]string) { sharedQuotas() }},
	}
}

// exhausters take as much of one kind of thing as one process can, and return how much that was. What they took they keep.
func exhausters() map[string]func() int {
	return map[string]func() int{
		"inotify": takeInotify, "pipes": takePipes, "signals": takeSignals, "queues": takeQueues, "locks": takeLocks,
		"timers": takeTimers, "flight": takeFlight,
	}
}

// exhaust has as many processes as there may be take all that there is of a kind, says so, and holds it until it is
// cancelled.
func exhaust(kind string) {
	total := 0
	for range 40 {
		c := exec.Command(self(), "exhaust-part", kind)
		out, err := c.StdoutPipe()
		must(err)
		if c.Start() != nil {
			break
		}
		said, _ := bufio.NewReader(out).ReadString('\n')
		n, _ := strconv.Atoi(said[:max(0, len(said)-1)])
		total += n
		if n == 0 {
			break // there is no more
		}
	}
	say(fmt.Sprintf("took %d of %s", total, kind), nil)
	say("armed", nil)
	time.Sleep(time.Hour)
}

func exhaustPart(kind string) {
	time.Sleep(time.Nanosecond) // the Go runtime needs a descriptor of its own for that, and has it from now on
	fmt.Println(exhausters()[kind]())
	time.Sleep(time.Hour)
}

// until counts how often take works, at most so often.
func until(most int, take func(i int) error) int {
	for i := range most {
		if take(i) != nil {
			return i
		}
	}
	return most
}

func takeInotify() int {
	n := until(1<<20, func(int) error { _, err := unix.InotifyInit1(0); return err })
	_ = unix.Close(20) // for one more, with watches
	fd, err := unix.InotifyInit1(0)
	if err != nil {
		return n
	}
	must(os.MkdirAll("/workspace/watched", 0o700))
	return n + until(1<<20, func(i int) error {
		dir := "/dev/shm/w" + strconv.Itoa(i)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		_, err := unix.InotifyAddWatch(fd, dir, unix.IN_ALL_EVENTS)
		return err
	})
}

func takePipes() int {
	return until(1<<20, func(int) error {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_NONBLOCK); err != nil {
			return err
		}
		_ = call(unix.SYS_FCNTL, uintptr(p[1]), unix.F_SETPIPE_SZ, 1<<20)
		_, err := unix.Write(p[1], []byte("x"))
		return err
	})
}

// deafChild starts a process that a signal stays pending for: it inherits what its parent's thread does not hear.
func deafChild(signal unix.Signal) *exec.Cmd {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var deaf, before unix.Sigset_t
	deaf.Val[0] = 1 << (signal - 1)
	must(unix.PthreadSigmask(unix.SIG_BLOCK, &deaf, &before))
	child := start("sleep")
	must(unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil))
	return child
}

// takeSignals fills the queue of a child's signals, which counts for the user.
func takeSignals() int {
	child := deafChild(40)
	return until(1<<18, func(int) error {
		info := siginfo{signo: 40, code: -1, pid: int32(os.Getpid()), uid: uint32(os.Getuid())}
		return callWith(unix.SYS_RT_SIGQUEUEINFO, uintptr(child.Process.Pid), 40, &info)
	})
}

func takeQueues() int {
	return until(1<<12, func(i int) error {
		fd, err := unix.Open(fmt.Sprintf("/dev/mqueue/q%d-%d", os.Getpid(), i), unix.O_CREAT|unix.O_RDWR, 0o600)
		_ = unix.Close(fd)
		return err
	})
}

func takeLocks() int {
	fd, err := unix.Open(fmt.Sprintf("/workspace/locks-%d", os.Getpid()), unix.O_CREAT|unix.O_RDWR, 0o600)
	must(err)
	return until(1000, func(i int) error {
		return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: int64(2 * i), Len: 1})
	})
}

func takeTimers() int {
	event := [16]uint32{2: 40} // sigev_signo; by a signal
	return until(1<<18, func(int) error {
		var id int32
		return call(unix.SYS_TIMER_CREATE, 1, pointer(&event), pointer(&id))
	})
}

// takeFlight sends descriptors that nobody receives, which counts for the user.
func takeFlight() int {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
	must(err)
	rights := unix.UnixRights(0, 0, 0, 0, 0, 0, 0, 0)
	return until(1<<12, func(int) error { return unix.Sendmsg(p[0], []byte("x"), rights, nil, 0) })
}

// ownQuotas uses a little of everything that a neighbour could have exhausted.
func ownQuotas() {
	r := newReport()
	fd, err := unix.InotifyInit1(0)
	r.works("inotify", err)
	_, err = unix.InotifyAddWatch(fd, "/workspace", unix.IN_ALL_EVENTS)
	r.works("watch", err)
	var p [2]int
	must(unix.Pipe(p[:]))
	r.works("pipe-size", call(unix.SYS_FCNTL, uintptr(p[1]), unix.F_SETPIPE_SZ, 1<<20))
	child := deafChild(40)
	for range 10 {
		info := siginfo{signo: 40, code: -1, pid: int32(os.Getpid()), uid: uint32(os.Getuid())}
		r.works("signal", callWith(unix.SYS_RT_SIGQUEUEINFO, uintptr(child.Process.Pid), 40, &info))
	}
	r.works("timer", call(unix.SYS_TIMER_CREATE, 1, 0, pointer(new(int32))))
	if _, err := os.Stat("/dev/mqueue"); err == nil {
		_, err = unix.Open("/dev/mqueue/own", unix.O_CREAT|unix.O_RDWR, 0o600)
		r.works("queue", err)
	}
	file, err := unix.Open("/workspace/own", unix.O_CREAT|unix.O_RDWR, 0o600)
	must(err)
	r.works("lock", unix.FcntlFlock(uintptr(file), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Len: 1}))
	r.works("flock", unix.Flock(file, unix.LOCK_EX|unix.LOCK_NB))
	b, err := unix.Mmap(-1, 0, 1<<14, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	must(err)
	r.works("mlock", unix.Mlock(b))
	s, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	must(err)
	r.works("flight", unix.Sendmsg(s[0], []byte("x"), unix.UnixRights(file), nil, 0))
	r.send()
}

// sharedQuotas tries to take of what all cells and the host share, of which no user has a part of his own.
func sharedQuotas() {
	r := newReport()
	_, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	r.refused("terminal", err)
	_, err = unix.Open("/dev/pts/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	r.refused("terminal-of-its-own", err)
	r.refused("aio", call(unix.SYS_IO_SETUP, 1, pointer(new(uint64))))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	must(err)
	program := []unix.SockFilter{{Code: 0x06}}
	fprog := unix.SockFprog{Len: 1, Filter: &program[0]}
	r.refused("filter", unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &fprog))
	r.refused("filter-reuseport", unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &fprog))
	r.refusedWith("filter-bpf", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ATTACH_BPF, fd), unix.EPERM)
	r.refusedWith("filter-reuseport-bpf", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_EBPF, fd), unix.EPERM)
	for _, option := range []int{unix.SO_REUSEADDR, unix.SO_SNDBUF, unix.SO_RCVBUF, unix.SO_KEEPALIVE, unix.SO_PASSCRED, unix.SO_RCVTIMEO, unix.SO_ZEROCOPY} {
		err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 1)
		r.holds(fmt.Sprintf("option-%d", option), err != unix.EPERM, "%v", err)
	}
	const hugeTLB, huge = 0x40000, 4
	_, err = unix.Mmap(-1, 0, 2<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|hugeTLB)
	r.refusedWith("huge-pages", err, unix.EPERM)
	_, err = unix.MemfdCreate("huge", huge)
	r.refusedWith("huge-file", err, unix.EPERM)
	_, err = unix.SysvShmGet(unix.IPC_PRIVATE, 2<<20, unix.IPC_CREAT|0o4600)
	r.refused("huge-segment", err)
	r.refusedWith("sync", call(unix.SYS_SYNC), unix.EPERM)
	r.refusedWith("syncfs", call(unix.SYS_SYNCFS, uintptr(fd)), unix.EPERM)
	r.refused("pressure", overwrite("/proc/pressure/memory", "some 100000 2000000"))
	r.send()
}
