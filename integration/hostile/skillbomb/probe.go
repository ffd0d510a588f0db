package main

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func probeCommands() []command {
	return []command{
		{"surroundings", func([]string) { surroundings() }},
		{"alone", func([]string) { alone() }},
	}
}

// surroundings tells what a cell can see of where it is: its environment, names, clock.
func surroundings() {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	host, err := os.Hostname()
	must(err)
	var name unix.Utsname
	must(unix.Uname(&name))
	groups, err := os.ReadFile("/proc/self/cgroup")
	must(err)
	limits, err := os.ReadFile("/proc/self/limits")
	must(err)
	dir, err := os.Getwd()
	must(err)
	before := time.Now()
	result(map[string]any{
		"env": env, "hostname": host, "domain": unix.ByteSliceToString(name.Domainname[:]), "cgroup": string(groups), "limits": string(limits),
		"dir": dir, "uid": os.Getuid(), "parent": os.Getppid(), "unix": before.Unix(), "backwards": time.Since(before) < 0,
	})
}

// alone waits long enough for somebody else to start a process in this cell, and looks for it.
func alone() {
	r := newReport()
	found := 0
	for range 25 {
		entries, err := os.ReadDir("/proc")
		must(err)
		for _, e := range entries {
			if pid, err := strconv.Atoi(e.Name()); err == nil && pid != 1 && pid != os.Getpid() {
				found++
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	r.holds("others", found == 0, "%d", found)
	r.send()
}
