package main

import (
	"os"
	"os/exec"
	"strconv"
)

func memoryCommands() []command {
	return []command{
		{"memory", func([]string) { eat() }},
		{"memory-child", func(args []string) { memoryChild(number(args[0]), number(args[1])) }},
	}
}

// eat touches more and more memory until it dies.
func eat() {
	for kept := [][]byte{}; ; {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
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
