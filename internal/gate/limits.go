package gate

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/hotcell/hotcell/internal/seal"
)

// limit sets what the engine cannot. A limit that cannot be set is a reason not to start.
func (g *gate) limit(all []seal.Limit) error {
	set := g.cfg.Limit
	if set == nil {
		set = func(resource int, soft, hard uint64) error {
			return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: soft, Max: hard})
		}
	}
	for _, l := range all {
		if err := set(l.Resource, l.Soft, l.Hard); err != nil {
			return fmt.Errorf("resource limit %d cannot be set to %d: %w", l.Resource, l.Hard, err)
		}
	}
	return nil
}

// raiseOOMScore offers the cell to the kernel when memory runs out, whatever the engine has set. It comes before the
// process is protected: then these files are not its own any more.
func raiseOOMScore(score int) {
	const file = "/proc/self/oom_score_adj"
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	if now, err := strconv.Atoi(string(bytes.TrimSpace(text))); err == nil && now < score {
		_ = os.WriteFile(file, strconv.AppendInt(nil, int64(score), 10), 0)
	}
}

// oomKills reads how many processes of this cgroup the kernel has killed for memory, -1 when it cannot be read.
func oomKills() int64 {
	for _, file := range []string{
		"/sys/fs/cgroup/memory.events",             // cgroup v2
		"/sys/fs/cgroup/memory/memory.oom_control", // cgroup v1
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) {
			if v, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
				if n, err := strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64); err == nil {
					return n
				}
			}
		}
	}
	return -1
}
