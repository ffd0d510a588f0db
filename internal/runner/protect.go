package runner

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"unsafe"
)

// Protect keeps the process safe from a skill that has its uid. The program calls it first and once; it acts on the whole
// process. What a process may do to another of its uid without ptrace, such as prlimit, is seccomp's to refuse.
func Protect() {
	debug.SetTraceback("none")
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(32 << 20) // soft: collect harder while an 8 MiB result passes through
	runtime.GOMAXPROCS(2)
	refuseTracing()
	catchSignals()
	for n := threads; n <= threads+2; n++ {
		if spareThreads(n); ownThreads() >= allThreads {
			break
		}
	}
}

// refuseTracing makes /proc/1/fd, /proc/1/mem, /proc/1/environ, ptrace, process_vm_writev and pidfd_getfd fail for others,
// and a core dump of this process impossible. The skill's process is dumpable again after its exec.
func refuseTracing() {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0, 0, 0, 0)
}

// catchSignals makes every signal that a skill can send harmless.
//
// Most are caught and dropped: the channel is never read, and a full channel drops. They are not ignored, since a skill
// would inherit that and be deaf to SIGTERM. SIGPIPE among them makes a write to a closed stdout an error. Left alone
// are SIGCHLD, SIGURG, with which the Go runtime interrupts its own threads, and what cannot be caught.
//
// Signals that stand for a fault crash a Go program whatever it catches when their sender claims, with sigqueue, that
// they are a fault. PID 1 gives them their default action back: the kernel never delivers a signal with a default action
// to PID 1 from within its namespace, while a real fault still kills it.
func catchSignals() {
	const last = 64
	var all []os.Signal
	for s := syscall.Signal(1); s <= last; s++ {
		switch s {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG:
		default:
			all = append(all, s)
		}
	}
	signal.Notify(make(chan os.Signal, 1), all...)
	if os.Getpid() != 1 {
		return
	}
	for _, s := range []syscall.Signal{
		syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSTKFLT, syscall.SIGSYS,
	} {
		var action [4]uint64 // struct sigaction, all zero: SIG_DFL
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	}
}

// threads is how many operating system threads the runner makes ready. It can use nine at once: one for each goroutine that
// can sit in a system call (stdin, the life, reaping, the skill's three streams, signals) and one for each of two that run;
// the one for signals and the one that is at work here are there already.
const threads = 9

// allThreads is how many the process has then: those, and the few that the Go runtime has for itself. It starts one of these
// a moment later now and then.
const allThreads = 14

// ownThreads counts this process's threads; where that cannot be known there are enough.
func ownThreads() int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return allThreads
	}
	return len(tasks)
}

// spareThreads makes the Go runtime start its threads now. They stay, idle, until they are needed. When the skill has
// used up the cell's limit of processes, the runtime could not start another one, and would die of that.
func spareThreads(n int) {
	var all, done sync.WaitGroup
	all.Add(n)
	for range n {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait() // holds its thread until each of the others has one
		})
	}
	done.Wait()
}
