package runner

import (
	"bytes"
	"os"
	"strconv"
)

// oomKills reads how many processes of the runner's own cgroup the kernel has killed for memory, -1 when it cannot be
// read. The kernel counts before it kills, so that a count taken after a death includes it.
func (l *life) oomKills() int64 {
	for _, file := range []string{
		"/sys/fs/cgroup/memory.events",             // cgroup v2
		"/sys/fs/cgroup/memory/memory.oom_control", // cgroup v1
	} {
		b, err := os.ReadFile(l.cfg.path(file))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(b) {
			if v, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
				n, err := strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64)
				if err == nil && n >= 0 {
					return n
				}
			}
		}
	}
	return -1
}

// since is the difference of two counts, -1 when one is missing.
func since(before, after int64) int64 {
	if before < 0 || after < before {
		return -1
	}
	return after - before
}
