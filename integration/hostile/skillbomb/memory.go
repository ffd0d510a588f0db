package main

import (
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func memoryCommands() []command {
	return []command{
		{"memory", func([]string) { eat() }},
		{"memory-child", func(args []string) { memoryChild(number(args[0]), number(args[1])) }},
		{"memory-after-result", func([]string) { memoryAfterResult() }},
		{"memory-leak", func([]string) { leak() }},
		{"memory-brink", func(args []string) { brink(number(args[0])) }},
		{"memory-hold", func(args []string) { hold(number(args[0])) }},
		{"memory-storm", func([]string) { storm() }},
		{"memory-memfd", func([]string) { eatFile() }},
		{"memory-sysv", func([]string) { eatSegments() }},
		{"memory-pipes", func([]string) { eatPipes() }},
		{"memory-locked", func([]string) { lockMemory() }},
		{"hello", func(args []string) { result(len(args)) }},
	}
}

// touch makes a piece of memory real.
func touch(b []byte) {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
}

// eat touches more and more memory until it dies.
func eat() {
	for kept := [][]byte{}; ; {
		b := make([]byte, 1<<20)
		touch(b)
		kept = append(kept, b)
	}
}

// memoryChild lets a descendant eat, so many generations down, and exits with a code whatever became of it.
func memoryChild(generations, code int) {
	if generations == 0 {
		eat()
	}
	_ = exec.Command(self(), "memory-child", strconv.Itoa(generations-1), strconv.Itoa(code)).Run()
	os.Exit(code)
}

// memoryAfterResult has its result out before it eats.
func memoryAfterResult() {
	result("early")
	eat()
}

// leak comes close to the limit at once and then creeps up on it.
func leak() {
	kept := [][]byte{make([]byte, 40<<20)}
	touch(kept[0])
	say("near the limit", nil)
	for {
		b := make([]byte, 256<<10)
		touch(b)
		kept = append(kept, b)
		time.Sleep(time.Millisecond)
	}
}

// brink uses much memory, but not too much, and ends well.
func brink(megabytes int) {
	b := make([]byte, megabytes<<20)
	touch(b)
	result(len(b) >> 20)
}

// hold uses much memory, but not too much, says so, and stays.
func hold(megabytes int) {
	b := make([]byte, megabytes<<20)
	touch(b)
	say("up", nil)
	time.Sleep(time.Hour)
	touch(b)
}

// storm has one child after the other eat, for ever.
func storm() {
	for {
		_ = exec.Command(self(), "memory").Run()
	}
}

// eatFile puts more and more into a file that is nowhere but in memory.
func eatFile() {
	fd, err := unix.MemfdCreate("bomb", 0)
	must(err)
	chunk := make([]byte, 1<<20)
	for {
		_, err := unix.Write(fd, chunk)
		must(err)
	}
}

// eatSegments makes shared memory that stays when its maker dies.
func eatSegments() {
	for {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4<<20, unix.IPC_CREAT|0o600)
		must(err)
		b, err := unix.SysvShmAttach(id, 0, 0)
		must(err)
		touch(b)
	}
}

// eatPipes makes the kernel hold memory, in pipes that nobody reads, through many processes with as many files as each may
// have. The limit of the cell or that of the user stops it; either way the cell lives.
func eatPipes() {
	r := newReport()
	filled := 0
	for range 40 {
		if !fillPipes(&filled) {
			break
		}
	}
	r.holds("pipes", filled > 0, "%d filled", filled)
	r.send()
}

// fillPipes fills pipes until there are no more descriptors, then closes them.
func fillPipes(filled *int) bool {
	var all []int
	chunk := make([]byte, 64<<10)
	for {
		var p [2]int
		if unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC) != nil {
			break
		}
		all = append(all, p[0], p[1])
		_, _ = unix.Write(p[1], chunk)
		*filled++
	}
	for _, fd := range all {
		_ = unix.Close(fd)
	}
	return len(all) > 0
}

// lockMemory tries to have memory that can't be taken away.
func lockMemory() {
	r := newReport()
	b, err := unix.Mmap(-1, 0, 32<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	must(err)
	r.refused("mlock", unix.Mlock(b))
	r.refused("mlockall", unix.Mlockall(unix.MCL_CURRENT|unix.MCL_FUTURE))
	_, err = unix.Mmap(-1, 0, 32<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_LOCKED)
	r.refused("mmap-locked", err)
	limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	r.refused("setrlimit-memlock", setLimit(unix.RLIMIT_MEMLOCK, &limit))
	r.send()
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	must(err)
	return n
}

// self is this program's path.
func self() string {
	path, err := os.Executable()
	must(err)
	return path
}

// start starts this program anew with a subcommand.
func start(args ...string) *exec.Cmd {
	c := exec.Command(self(), args...)
	must(c.Start())
	return c
}
