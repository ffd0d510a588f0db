package cgroup

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Limits are what a container's own group must hold.
type Limits struct {
	Memory        int64 // bytes, and so much with swap too
	PIDs          int64
	Quota, Period int64 // microseconds; 0: no bound
}

// Check reads back the limits of the container that [Group.Starting] named, and the group's own. It is called once the
// container's group is there, before anything of the cell runs in it.
func (g *Group) Check(want Limits) error {
	g.mu.Lock()
	container := g.container
	g.mu.Unlock()
	m := g.m.mounts
	var errs []string
	expect := func(group, controller, file, want string) {
		point := m.unified
		if m.version == 1 {
			point = m.controllers[controller]
		}
		got := strings.Join(fields(point, group, file), " ")
		if point == "" || got != want {
			errs = append(errs, fmt.Sprintf("%s is %q, expected %q", filepath.Join(group, file), got, want))
		}
	}
	number := func(n int64) string { return fmt.Sprint(n) }
	page := func(n int64) string { return number(n &^ 4095) }
	if m.version == 1 {
		expect(g.path, "memory", "memory.limit_in_bytes", page(g.limit))
		expect(container, "memory", "memory.limit_in_bytes", page(want.Memory))
		if (v1{m}).swap(want.Memory) != nil {
			expect(container, "memory", "memory.memsw.limit_in_bytes", page(want.Memory))
		}
		expect(container, "pids", "pids.max", number(want.PIDs))
		if want.Quota > 0 {
			expect(container, "cpu", "cpu.cfs_quota_us", number(want.Quota))
			expect(container, "cpu", "cpu.cfs_period_us", number(want.Period))
		}
	} else {
		expect(g.path, "", "memory.max", page(g.limit))
		expect(container, "", "memory.max", page(want.Memory))
		expect(container, "", "pids.max", number(want.PIDs))
		if want.Quota > 0 {
			expect(container, "", "cpu.max", fmt.Sprintf("%d %d", want.Quota, want.Period))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("limits are not in force: %s", strings.Join(errs, "; "))
	}
	return nil
}

// Processes are those in the group now, as this process sees them.
func (g *Group) Processes() []int {
	if g == nil {
		return nil
	}
	return g.m.processes(g.path)
}
