package runner

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/hotcell/hotcell/internal/wall"
)

const maxProbeMounts = 200

// rlimitNproc is the kernel's number, which package syscall does not have.
const rlimitNproc = 6

// mayWrite is what access(2) is asked for.
const mayWrite = 2

// Probe writes what this process sees and may do, and returns the program's exit code.
func Probe(w io.Writer) int {
	p := look("")
	p.Tries = tries()
	if json.NewEncoder(w).Encode(p) != nil {
		return 1
	}
	return 0
}

// look reads what the kernel tells the process about itself. root is put in front of the kernel's files.
func look(root string) wall.Probe {
	at := func(name string) string { return filepath.Join(root, name) }
	p := wall.Probe{UID: os.Getuid(), GID: os.Getgid(), Core: rlimit(syscall.RLIMIT_CORE), Files: rlimit(syscall.RLIMIT_NOFILE), UserPIDs: rlimit(rlimitNproc)}
	p.Groups, _ = os.Getgroups()
	p.Status = statusLines(text(at("/proc/self/status")))
	p.Mounts = mountTable(text(at("/proc/self/mountinfo")))
	for i, m := range p.Mounts {
		p.Mounts[i].Denied = !m.ReadOnly && syscall.Access(at(m.At), mayWrite) == syscall.EACCES
	}
	p.Interfaces = interfaces(text(at("/proc/self/net/dev")))
	p.Processes = countProcesses(at("/proc"))
	p.Label = strings.TrimRight(text(at("/proc/self/attr/current")), "\x00\n ")
	cgroupLimits(&p, at("/sys/fs/cgroup"))
	return p
}

func text(name string) string {
	b, _ := os.ReadFile(name)
	return string(b)
}

func rlimit(which int) int64 {
	var r syscall.Rlimit
	if syscall.Getrlimit(which, &r) != nil || r.Max > 1<<62 {
		return -1
	}
	return int64(r.Max)
}

// statusLines picks what tells how far a process is confined.
func statusLines(table string) map[string]string {
	picked := map[string]string{}
	for line := range strings.Lines(table) {
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Uid", "Gid":
			picked[key] = strings.Join(strings.Fields(value), " ")
		}
	}
	return picked
}

// mountTable reads a mountinfo table: its fifth and sixth fields are the place and the options, and the kind follows a
// dash.
func mountTable(table string) []wall.ProbeMount {
	var all []wall.ProbeMount
	for line := range strings.Lines(table) {
		mount, source, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(mount), strings.Fields(source)
		if len(fields) < 6 || len(kind) < 1 || len(all) == maxProbeMounts {
			continue
		}
		options := "," + fields[5] + ","
		if len(kind) > 2 {
			options += kind[2] + ","
		}
		all = append(all, wall.ProbeMount{At: fields[4], Kind: kind[0], ReadOnly: strings.Contains(options, ",ro,")})
	}
	return all
}

// interfaces reads the names off the kernel's table of network devices.
func interfaces(table string) []string {
	var names []string
	for line := range strings.Lines(table) {
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.Contains(name, "|") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

func countProcesses(proc string) int {
	entries, _ := os.ReadDir(proc)
	n := 0
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			n++
		}
	}
	return n
}

// cgroupLimits reads the limits of the process's own cgroup, in the files of version 2 or of version 1.
func cgroupLimits(p *wall.Probe, dir string) {
	read := func(name string) int64 { return limit(text(filepath.Join(dir, name))) }
	if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
		p.Memory, p.Swap, p.PIDs = read("memory.max"), read("memory.swap.max"), read("pids.max")
		if text(filepath.Join(dir, "memory.swap.max")) == "max\n" {
			p.Swap = math.MaxInt64
		}
		p.CPU = share(strings.Fields(text(filepath.Join(dir, "cpu.max"))))
		return
	}
	p.Memory, p.PIDs, p.Swap = read("memory/memory.limit_in_bytes"), read("pids/pids.max"), -1
	switch both := read("memory/memory.memsw.limit_in_bytes"); {
	case both > 0 && p.Memory > 0:
		p.Swap = both - p.Memory
	case both == 0:
		p.Swap = math.MaxInt64
	}
	p.CPU = share(strings.Fields(text(filepath.Join(dir, "cpu/cpu.cfs_quota_us")) + " " + text(filepath.Join(dir, "cpu/cpu.cfs_period_us"))))
}

// limit is a number, 0 for none, -1 for what can't be read. Version 1 says none with a number near the largest.
func limit(s string) int64 {
	s = strings.TrimSpace(s)
	if s == "max" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil || n < 0:
		return -1
	case n > 1<<60:
		return 0
	}
	return n
}

// share is quota over period in thousandths, 0 for none, -1 for what can't be read.
func share(words []string) int64 {
	if len(words) != 2 {
		return -1
	}
	if words[0] == "max" || words[0] == "-1" {
		return 0
	}
	quota, period := limit(words[0]), limit(words[1])
	if quota < 0 || period <= 0 {
		return -1
	}
	return quota * 1000 / period
}
