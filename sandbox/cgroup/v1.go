package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotcell/hotcell/sandbox"
)

// chargeBatch is the most by which the highest usage stays below the limit when memory runs out: the kernel charges in
// batches of up to 64 pages.
const chargeBatch = 64 * 4096

// v1 is version 1: a tree for each controller. Only the memory tree's groups are made for a cell; the runtime makes the
// others on its way to the container's.
type v1 struct{ mounts }

// share makes the root group with its limits. A value that cannot be set is an error: the root is there for it.
func (v v1) share(root string, q quota) error {
	if err := os.MkdirAll(filepath.Join(v.controllers["memory"], root), 0o755); err != nil {
		return err
	}
	memory := strconv.FormatInt(q.memory, 10)
	// memsw may never be below memory: the order that works depends on whether they grow or shrink.
	set := func(names ...string) error {
		for _, name := range names {
			err := write(memory, v.controllers["memory"], root, name)
			if err != nil && !(errors.Is(err, fs.ErrNotExist) && name == "memory.memsw.limit_in_bytes") {
				return err
			}
		}
		return nil
	}
	if err := set("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"); err != nil {
		if err := set("memory.memsw.limit_in_bytes", "memory.limit_in_bytes"); err != nil {
			return err
		}
	}
	for _, side := range []struct{ controller, file, value string }{
		{"pids", "pids.max", strconv.FormatInt(q.pids, 10)},
		{"cpu", "cpu.shares", strconv.FormatInt(q.shares, 10)},
	} {
		point := v.controllers[side.controller]
		if point == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Join(point, root), 0o755); err != nil {
			return err
		}
		if err := write(side.value, point, root, side.file); err != nil {
			return err
		}
	}
	return nil
}

// hold makes an instance's group in the trees where the root has limits, so that nobody takes the root away.
func (v v1) hold(path string) error {
	for _, controller := range []string{"memory", "pids", "cpu"} {
		if point := v.controllers[controller]; point != "" {
			if err := os.Mkdir(filepath.Join(point, path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return nil
}

// enclose makes a cell's group and its bell.
func (v v1) enclose(path string, limit int64) (*ring, error) {
	dir := filepath.Join(v.controllers["memory"], path)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	bytes := strconv.FormatInt(limit, 10)
	if err := write(bytes, dir, "memory.limit_in_bytes"); err != nil {
		return nil, err
	}
	if err := write(bytes, dir, "memory.memsw.limit_in_bytes"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // a kernel that doesn't account for swap has no such file
	}
	return bell(dir)
}

// bell is rung by the kernel when memory runs out in a group or above it.
func bell(dir string) (*ring, error) {
	state, err := open(filepath.Join(dir, "memory.oom_control"), unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(state) }() // read only
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("eventfd2", err)
	}
	if err := write(fmt.Sprintf("%d %d", fd, state), dir, "cgroup.event_control"); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return newRing(fd)
}

// swap is the limit of memory and swap together, nil where the kernel doesn't account for swap.
func (v v1) swap(limit int64) *int64 {
	if _, err := os.Stat(filepath.Join(v.controllers["memory"], "memory.memsw.limit_in_bytes")); err != nil {
		return nil
	}
	return &limit
}

// entered reports whether a process was ever charged to the group.
func (v v1) entered(path string) bool { return v.peak(path) > 0 }

func (v v1) peak(path string) int64 {
	n, _ := number(v.controllers["memory"], path, "memory.max_usage_in_bytes")
	return n
}

func (v v1) atLimit(path string, limit int64) bool {
	both, _ := number(v.controllers["memory"], path, "memory.memsw.max_usage_in_bytes")
	return max(v.peak(path), both) >= limit-chargeBatch
}

// kills reads how many processes of the container were killed for memory. It is not known once the container is gone.
func (v v1) kills(container string) (int64, bool) {
	return entry("oom_kill", v.controllers["memory"], container, "memory.oom_control")
}

// throttled is counted where the quota is, which is the container's group.
func (v v1) throttled(container string) (time.Duration, bool) {
	n, ok := entry("throttled_time", v.controllers["cpu"], container, "cpu.stat")
	return time.Duration(n), ok
}

func (v v1) usage(path string) sandbox.Usage {
	cpu, _ := number(v.controllers["cpuacct"], path, "cpuacct.usage")
	pids, _ := number(v.controllers["pids"], path, "pids.peak")
	return sandbox.Usage{MemoryPeak: v.peak(path), CPU: time.Duration(cpu), PIDsPeak: int(pids)}
}
