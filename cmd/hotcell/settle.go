package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// settle gives back the memory that only the start of a daemon needs: garbage, and the pages of this program that it ran through.
// What is used again comes back page by page out of the kernel's cache: never 2 MiB at a time, which is how it comes where the
// file happens to be cached in huge pages (a linker that has just written it leaves them), and of which all counts as ours.
func settle() {
	debug.FreeOSMemory()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	for _, a := range unchanged(f, program) {
		for _, advice := range []uintptr{unix.MADV_NOHUGEPAGE, unix.MADV_DONTNEED} { // a refusal costs memory, no more
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, a.from, a.to-a.from, advice)
		}
	}
}

// unsampled ends the samples of what takes memory, which are for a listener that serves profiles: each walks a stack, and what that
// reads of this program's tables of functions stays in memory.
var unsampled = sync.OnceFunc(func() { runtime.MemProfileRate = 0 })

// area is a part of a process's memory.
type area struct{ from, to uintptr }

// unchanged reads a process's smaps, and returns the parts of the program's file that nobody can write to and nobody has: what was
// relocated before it was protected, and where a debugger has put its breakpoints, is nowhere else.
func unchanged(smaps io.Reader, program string) (areas []area) {
	var at area
	var ours bool
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		if from, to, ok := unchanging(lines.Text(), program); ok {
			at, ours = area{from, to}, true
		} else if kind, n, ok := strings.Cut(lines.Text(), ":"); !ok || strings.Contains(kind, " ") {
			ours = false // another part
		} else if ours && kind == "Anonymous" && strings.TrimSpace(n) == "0 kB" {
			areas = append(areas, at)
		}
	}
	return areas
}

// unchanging reads a line of a process's maps, and reports whether it is a part of the program's file that nobody can write to.
func unchanging(line, program string) (from, to uintptr, ok bool) {
	var mode, offset, device, inode string
	n, err := fmt.Sscanf(line, "%x-%x %4s %s %s %s", &from, &to, &mode, &offset, &device, &inode)
	return from, to, err == nil && n == 6 && strings.HasSuffix(line, " "+program) && (mode == "r-xp" || mode == "r--p")
}
