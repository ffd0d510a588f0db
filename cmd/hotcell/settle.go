package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// settle gives back the memory that only the start of a daemon needs: garbage, and the pages of this program that it ran through.
// What is used again comes back page by page out of the kernel's cache.
func settle() {
	debug.FreeOSMemory()
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer f.Close()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if from, to, ok := unchanging(lines.Text(), program); ok {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // a refusal costs memory, no more
		}
	}
}

// unchanging reads a line of a process's maps, and reports whether it is a part of the program's file that nobody can write to.
func unchanging(line, program string) (from, to uintptr, ok bool) {
	var mode, offset, device, inode string
	n, err := fmt.Sscanf(line, "%x-%x %4s %s %s %s", &from, &to, &mode, &offset, &device, &inode)
	return from, to, err == nil && n == 6 && strings.HasSuffix(line, " "+program) && (mode == "r-xp" || mode == "r--p")
}
