package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/cgroups/v3/cgroup2"

	"github.com/hotcell/hotcell/sandbox"
)

// v2 is version 2: one tree, whose counters include what happened below.
type v2 struct{ mounts }

// share makes the root group with its limits.
func (v v2) share(root string, q quota) error {
	_, err := cgroup2.NewManager(v.unified, root, &cgroup2.Resources{
		Memory: &cgroup2.Memory{Max: &q.memory},
		Pids:   &cgroup2.Pids{Max: q.pids},
		CPU:    &cgroup2.CPU{Weight: weight(q.shares)},
	})
	if err != nil {
		return err
	}
	return v.noSwap(root)
}

// weight turns v1's shares, of which an ordinary group has 1024, into v2's weight, of which it has 100.
func weight(shares int64) *uint64 {
	w := uint64(max(1, shares*100/1024))
	return &w
}

// noSwap forbids swap, where the kernel accounts for it.
func (v v2) noSwap(path string) error {
	if err := write("0", v.unified, path, "memory.swap.max"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (v v2) hold(path string) error {
	if err := os.Mkdir(filepath.Join(v.unified, path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// enclose makes a cell's group. memory.oom.group stays 0, so that a process can outlive its child.
func (v v2) enclose(path string, limit int64) (*ring, error) {
	if _, err := cgroup2.NewManager(v.unified, path, &cgroup2.Resources{Memory: &cgroup2.Memory{Max: &limit}}); err != nil {
		return nil, err
	}
	return nil, v.noSwap(path)
}

// entered goes by processor time too: kernels before 5.19 keep no peak, and a cell may have ended already.
func (v v2) entered(path string) bool {
	usage, _ := number(v.unified, path, "memory.current")
	ran, _ := entry("usage_usec", v.unified, path, "cpu.stat")
	return usage > 0 || ran > 0 || v.peak(path) > 0
}

func (v v2) peak(path string) int64 {
	n, _ := number(v.unified, path, "memory.peak")
	return n
}

// atLimit: "oom" counts how often the limit of the group or of one below was hit and nothing could be reclaimed. What
// happens above does not count here.
func (v v2) atLimit(path string, _ int64) bool {
	n, _ := entry("oom", v.unified, path, "memory.events")
	return n > 0
}

// kills counts in the cell's own group, where it outlives the container.
func (v v2) kills(container string) (int64, bool) {
	return entry("oom_kill", v.unified, filepath.Dir(container), "memory.events")
}

func (v v2) throttled(container string) (time.Duration, bool) {
	n, ok := entry("throttled_usec", v.unified, container, "cpu.stat")
	return time.Duration(n) * time.Microsecond, ok
}

func (v v2) usage(path string) sandbox.Usage {
	cpu, _ := entry("usage_usec", v.unified, path, "cpu.stat")
	pids, _ := number(v.unified, path, "pids.peak")
	return sandbox.Usage{MemoryPeak: v.peak(path), CPU: time.Duration(cpu) * time.Microsecond, PIDsPeak: int(pids)}
}
