package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The rows of memory. The daemon is the program as it is installed; the others are of this program as a supervisor, which
// can be told to collect its garbage before it is looked at.
const (
	rssIdle    = "hotcell serve, idle"
	rssServed  = "hotcell serve, after 100 calls"
	rssFlood   = "hotcell serve, growth at its peak while 1 GiB of events passed"
	rssOver    = "hotcell serve, growth at its peak while a skill printed 1 GiB against its limit"
	rssWaiting = "a supervisor, per cell that waits"
	rssRunning = "a supervisor, per call that runs"
)

// memorySection looks at how much memory supervisors of this machine's engine hold.
func memorySection(ctx context.Context, b *bench) error {
	for _, part := range []struct {
		rows []string
		run  func(context.Context) error
	}{
		{[]string{rssIdle, rssServed, rssFlood, rssOver}, b.daemonMemory},
		{[]string{rssWaiting, rssRunning}, b.cellMemory},
	} {
		wanted := false
		for _, name := range part.rows {
			wanted = wanted || b.wants("memory", name)
		}
		if !wanted {
			continue
		}
		if err := part.run(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			b.out("memory", strings.Join(part.rows, "; "), 0, err)
		}
	}
	return nil
}

// memory reads one figure of a process's, in bytes.
func memory(pid int, key string) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == key+":" {
			kib, err := strconv.ParseFloat(fields[1], 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no %s", pid, key)
}

// forgetPeak lets the kernel forget a process's peak, and returns what it holds now.
func forgetPeak(pid int) (float64, error) {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return 0, err
	}
	return memory(pid, "VmRSS")
}
