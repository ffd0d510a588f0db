package runner

import (
	"math/bits"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// asideLimit is how long a runner stays aside for the skill's first words.
const asideLimit = 50 * time.Millisecond

// aside waits for the first words of a process that was just woken, or started, on another processor than that one's, and no longer
// than asideLimit.
//
// The kernel wakes a process on the processor of who wakes it, unless another one is idle; and on a virtual machine one that sleeps
// does not count as idle, since its host may have given it to somebody else. So the runner and the skill's process would share one
// processor, and what a skill says before it goes on working would be passed on only once it has done. Where the runner can't leave,
// or has one processor alone, it does not wait either.
func (c *child) aside() {
	var all processors
	if !all.get() || all.count() < 2 {
		return
	}
	its := c.processor()
	if its < 0 || its >= 64*len(all) {
		return
	}
	others := all
	others[its/64] &^= 1 << (its % 64)
	runtime.LockOSThread()
	if others.set() {
		c.p.await(asideLimit)
		if !all.set() {
			return // the thread ends with its goroutine
		}
	}
	runtime.UnlockOSThread()
}

// processor is the number of the one that the process runs on, or ran on last; -1 where nobody says.
func (c *child) processor() int {
	const field = 39 - 3 // proc(5)
	fields := c.stat.fields()
	if len(fields) <= field {
		return -1
	}
	n, err := strconv.Atoi(string(fields[field]))
	if err != nil {
		return -1
	}
	return n
}

// processors is a set of them, as the kernel has it.
type processors [16]uint64

// get fills in those that this thread may run on, and reports false where there are more than fit.
func (p *processors) get() bool {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(*p), uintptr(unsafe.Pointer(p)))
	return errno == 0
}

// set has this thread run on these alone, and reports whether it does.
func (p *processors) set() bool {
	_, _, errno := syscall.Syscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(*p), uintptr(unsafe.Pointer(p)))
	return errno == 0
}

func (p *processors) count() (n int) {
	for _, word := range p {
		n += bits.OnesCount64(word)
	}
	return n
}

// await waits in this thread until the skill has said something, or closed its streams, and no longer than limit.
func (p *pipes) await(limit time.Duration) {
	const pollIn = 1
	fds := [2]struct {
		fd              int32
		events, returns int16
	}{{fd: int32(p.stdout), events: pollIn}, {fd: int32(p.stderr), events: pollIn}}
	until := syscall.NsecToTimespec(limit.Nanoseconds())
	_, _, _ = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), uintptr(len(fds)), uintptr(unsafe.Pointer(&until)), 0, 0, 0)
}
