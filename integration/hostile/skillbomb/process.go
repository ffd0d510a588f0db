package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	garbage "runtime/debug"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func processCommands() []command {
	return []command{
		{"sleep", func([]string) { time.Sleep(time.Hour) }},
		{"fork-count", func(args []string) { forkCount(number(args[0])) }},
		{"fork-bomb", func([]string) { forkBomb() }},
		{"thread-bomb", func([]string) { threadBomb() }},
		{"zombies", func([]string) { zombies() }},
		{"orphan", func([]string) { start("hello"); os.Exit(0) }},
		{"files", func(args []string) { openFiles(number(args[0])) }},
		{"spin", func([]string) { spin() }},
		{"deaf", func([]string) { deaf() }},
		{"signal-self", func(args []string) { signalSelf(unix.Signal(number(args[0]))) }},
		{"kill-child", func([]string) { killChild() }},
		{"result-then-exit", func(args []string) { result("said"); os.Exit(number(args[0])) }},
		{"exit", func(args []string) { os.Exit(number(args[0])) }},
		{"daemon", func(args []string) { daemon(args) }},
		{"chatter", func([]string) { chatter() }},
		{"vfork", func([]string) { vfork() }},
		{"priority", func([]string) { priority() }},
	}
}

// forkCount starts processes until the kernel refuses, and tells how many there could be.
func forkCount(limit int) {
	r := newReport()
	n := 0
	var err error
	for ; n < 10000; n++ {
		c := exec.Command(self(), "sleep")
		if err = c.Start(); err != nil {
			break
		}
	}
	r.refusedWith("fork", err, unix.EAGAIN, unix.ENOMEM)
	r.holds("processes", n > 0 && n < limit, "%d", n)
	r.send()
}

// forkBomb multiplies for ever; each child does the same.
//
// A Go runtime that gets no more threads dies when it wants to collect garbage, and the first of the bombs with it: so it
// makes little and collects none.
func forkBomb() {
	garbage.SetGCPercent(-1)
	program, env := self(), os.Environ()
	for {
		if _, err := os.StartProcess(program, []string{"skillbomb", "fork-bomb"}, &os.ProcAttr{Env: env}); err != nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// threadBomb makes threads until the Go runtime can't have another one, and dies of that.
func threadBomb() {
	for {
		go func() {
			runtime.LockOSThread()
			_, _ = unix.Ppoll(nil, nil, nil) // for ever, in a thread of its own
		}()
		runtime.Gosched()
	}
}

// zombies makes many more orphans, one after the other, than there may be processes at once. They end at once, and PID 1
// has to see to it that they go away.
func zombies() {
	r := newReport()
	const many = 200
	n := 0
	for ; n < many; n++ {
		if err := exec.Command(self(), "orphan").Run(); err != nil {
			break
		}
	}
	r.holds("orphans", n == many, "%d", n)
	r.send()
}

// openFiles opens files of several kinds until the kernel refuses.
func openFiles(limit int) {
	r := newReport()
	n := 0
	var err error
	for ; n < 1<<20; n++ {
		if _, err = unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			break
		}
	}
	r.refusedWith("open", err, unix.EMFILE)
	r.holds("files", n > 0 && n < limit, "%d", n)
	_, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	r.refusedWith("socket", err, unix.EMFILE)
	_, err = unix.EpollCreate1(0)
	r.refusedWith("epoll", err, unix.EMFILE)
	more := unix.Rlimit{Cur: uint64(limit) + 1, Max: uint64(limit) + 1}
	r.refusedWith("setrlimit-nofile", setLimit(unix.RLIMIT_NOFILE, &more), unix.EPERM)
	r.send()
}

// spin keeps all processors busy, in several processes: no more than gVisor's kernel can have within the usual limit.
func spin() {
	if os.Getenv("SPINNING") == "" {
		for range 3 {
			c := exec.Command(self(), "spin")
			c.Env = append(os.Environ(), "SPINNING=1")
			must(c.Start())
		}
	}
	busy()
}

// deaf ignores every signal that can be ignored, and spins.
func deaf() {
	signal.Ignore()
	for s := syscall.Signal(1); s < 65; s++ {
		signal.Ignore(s)
	}
	say("deaf", nil)
	busy()
}

// killChild has a child die as if memory had killed it, and ends well.
func killChild() {
	c := start("sleep")
	must(c.Process.Kill())
	_ = c.Wait()
	result("outlived")
}

// busy computes for ever.
func busy() {
	for n := uint64(1); ; n = n*6364136223846793005 + 1 {
		if n == 0 {
			say("nothing", nil)
		}
	}
}

// signalSelf sends a signal to itself, whose default action takes place.
func signalSelf(s unix.Signal) {
	var action [4]uint64 // struct sigaction, all zero: the default
	_ = call(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8)
	_ = unix.Kill(os.Getpid(), s)
	time.Sleep(time.Hour)
}

// daemon leaves a process behind, twice forked and in a session of its own, that keeps stdout and chatters on it. How says
// which part this process plays.
func daemon(args []string) {
	part := "outer"
	if len(args) > 0 {
		part = args[0]
	}
	c := exec.Command(self(), "daemon", "inner")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if part == "inner" {
		c = exec.Command(self(), "chatter")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		must(c.Start())
		os.Exit(0)
	}
	must(c.Run())
	if len(args) > 0 {
		fmt.Println(`"plain"`) // no frame: the end of the process is all that there is
		os.Exit(0)
	}
	result("left")
}

// chatter prints, and starts again whatever tries to stop it.
func chatter() {
	signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE, unix.SIGINT)
	for {
		fmt.Fprintln(os.Stderr, "still here")
		time.Sleep(10 * time.Millisecond)
	}
}

// vfork waits, as no signal but SIGKILL can interrupt, for a child that never lets it go.
func vfork() {
	runtime.LockOSThread()
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_VFORK|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	for errno == 0 && pid == 0 {
		_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
	must(fmt.Errorf("vfork: %w", errno))
}

// priority tries to get ahead of everybody else.
func priority() {
	r := newReport()
	r.refused("nice", unix.Setpriority(unix.PRIO_PROCESS, 0, -20))
	r.refused("nice-user", unix.Setpriority(unix.PRIO_USER, os.Getuid(), 1))
	param := int32(50)
	for name, policy := range map[string]uintptr{"fifo": 1, "rr": 2} {
		r.refused("sched-"+name, call(unix.SYS_SCHED_SETSCHEDULER, 0, policy, uintptr(unsafe.Pointer(&param))))
	}
	deadline := struct {
		size, policy             uint32
		flags                    uint64
		nice                     int32
		priority                 uint32
		runtime, deadline, perod uint64
	}{size: 48, policy: 6, runtime: 9e8, deadline: 1e9, perod: 1e9}
	r.refused("sched-deadline", call(unix.SYS_SCHED_SETATTR, 0, uintptr(unsafe.Pointer(&deadline)), 0))
	const ioprioRealtime = 1 << 13
	r.refused("ioprio-realtime", call(unix.SYS_IOPRIO_SET, 1, 0, ioprioRealtime))
	r.send()
}
