package oci

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// reapTime is how long processes that were killed may take until they can be taken off the kernel's list.
const reapTime = 2 * time.Second

// haltTime bounds how long processes are waited for to stop.
const haltTime = 200 * time.Millisecond

// killLineage kills a runtime that is our child, and all that it has started, and returns the latter. A runtime that dies
// alone leaves the stages of a cell that is half made: they become our children, whom nobody waits for. All are stopped
// first, so that none starts another meanwhile. A signal to stop comes to the threads of a process one after the other, and
// a thread that it has not reached may still start something: so the last look is one that begins when all have stopped.
func killLineage(runtime int) (descendants []process) {
	seen := map[int]process{}
	deadline := time.Now().Add(haltTime)
	for {
		halted, more := len(seen) > 0, false
		for pid := range seen {
			halted = halted && stands(pid)
		}
		for _, p := range lineageOf(runtime) {
			if _, known := seen[p.pid]; !known && send(p, unix.SIGSTOP) {
				seen[p.pid], more = p, true
			}
		}
		if !more && (halted || len(seen) == 0 || time.Now().After(deadline)) {
			break
		}
	}
	for pid, p := range seen {
		send(p, unix.SIGKILL)
		if pid != runtime {
			descendants = append(descendants, p)
		}
	}
	return descendants
}

// stands reports whether a process starts no others any more: it is dead, its stop has reached all of its threads, or each
// of them waits within the kernel, as one does for the child that it has just started.
func stands(pid int) bool {
	stats, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	for _, path := range stats {
		f := statIn(path)
		switch {
		case f == nil: // this thread has ended
		case f[0] == "T" || f[0] == "t":
			return true
		case f[0] != "D" && f[0] != "Z" && f[0] != "X":
			return false
		}
	}
	return true
}

// lineageOf returns a process and all that descend from it, the dead included.
func lineageOf(root int) (family []process) {
	children := map[int][]int{}
	stats, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, path := range stats {
		if pid, err := strconv.Atoi(filepath.Base(path)); err == nil {
			parent := parentOf(pid)
			children[parent] = append(children[parent], pid)
		}
	}
	for line := []int{root}; len(line) > 0; line = line[1:] {
		if _, birth, ok := lookUp(line[0]); ok {
			family = append(family, process{line[0], birth})
		}
		line = append(line, children[line[0]]...)
	}
	return family
}

// send signals a process, unless its number is another's by now. It reports whether it is there.
func send(p process, signal unix.Signal) bool {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	if _, birth, ok := lookUp(p.pid); !ok || birth != p.birth {
		return false
	}
	_ = unix.PidfdSendSignal(fd, signal, nil, 0) // one that is dead is to be waited for all the same
	return true
}

// mourn notes what was killed with a runtime.
func (c *cell) mourn(dead []process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = append(c.lost, dead...)
}

// bury takes killed processes off the kernel's list as they become our children.
func bury(dead []process) {
	deadline := time.Now().Add(reapTime)
	for _, p := range dead {
		for time.Now().Before(deadline) {
			if _, birth, ok := lookUp(p.pid); !ok || birth != p.birth {
				break
			}
			if parentOf(p.pid) == os.Getpid() {
				if n, err := unix.Wait4(p.pid, nil, unix.WNOHANG, nil); n == p.pid || errors.Is(err, unix.ECHILD) {
					break
				}
			}
			time.Sleep(time.Millisecond)
		}
	}
}
