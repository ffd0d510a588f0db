package doctor

import (
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

func (e *exam) cgroups() {
	if e.noEngine("cgroup") {
		return
	}
	f := e.facts.Engine
	found := fmt.Sprintf("version %s, driver %s", word(f.CgroupVersion), word(f.CgroupDriver))
	none := f.CgroupDriver == "none" || f.CgroupDriver == "" || f.CgroupVersion == ""
	e.either("cgroup", !none, found, found, Fail, "cells can't be limited without cgroups: for a rootless engine set up cgroup version 2 with systemd and delegation")
}

// evidence: where the truth about a death for memory comes from. Only a cell's own end shows that it is the kernel.
func (e *exam) evidence() {
	const (
		id        = "evidence"
		otherwise = "the engine's and the runner's word decides what ran out of memory, not the kernel's counters: "
		hint      = "where verdicts of out_of_memory must be certain run hotcell as root on the engine's host, and the engine as root with cgroup driver cgroupfs"
	)
	if e.noEngine(id) {
		return
	}
	cell := e.facts.Cell
	why, _, _ := strings.Cut(e.facts.NoGroups, ": run hotcell as root") // the hint says so too
	switch {
	case cell.Probe != nil && cell.Source == sandbox.ConfidenceKernel:
		e.ok(id, "the kernel's: its counters were read at the cell's end")
	case why != "":
		e.add(id, Warn, otherwise+why, hint)
	case cell.Probe != nil:
		e.add(id, Warn, otherwise+"they could not be read at the cell's end", hint)
	default:
		e.add(id, Skip, "nothing speaks against the kernel's counters, but no cell ran", "")
	}
}

// limits: an engine that can't enforce one refuses the cell, since the driver takes its warning for a no.
func (e *exam) limits() {
	for _, l := range []struct {
		id, what string
		has      func() bool
		hint     string
	}{
		{"limit-memory", "memory", func() bool { return e.facts.Engine.MemoryLimit }, "enable the memory controller (kernel parameter cgroup_enable=memory)"},
		{"limit-swap", "swap", func() bool { return e.facts.Engine.SwapLimit }, "enable swap accounting (kernel parameter swapaccount=1): without it cells don't start"},
		{"limit-pids", "processes", func() bool { return e.facts.Engine.PIDsLimit }, "enable the pids controller"},
		{"limit-cpu", "processor time", func() bool { return e.facts.Engine.CPUQuota }, "enable the cpu controller with CFS quotas"},
	} {
		if e.noEngine(l.id) {
			continue
		}
		e.either(l.id, l.has(), e.maker()+" can limit "+l.what, e.maker()+" can't limit "+l.what, Fail, l.hint)
	}
}

// memory: what cells may have together, against what there is.
func (e *exam) memory() {
	const id = "memory"
	if e.noEngine(id) {
		return
	}
	f, set := e.facts.Engine, e.facts.Settings
	budget, from := set.MaxMemory, "sandbox.max_memory"
	if budget == 0 {
		budget, from = f.Memory/4*3, "three quarters"
	}
	cells := set.MaxCells
	if cells == 0 {
		cells = max(4, 2*f.CPUs)
	}
	found := fmt.Sprintf("cells may have %s of %s together (%s), and %d run at once on %d cores", size(budget), size(f.Memory), from, cells, f.CPUs)
	switch {
	case f.Memory <= 0:
		e.skip(id, "the engine does not tell its memory")
	case budget > f.Memory:
		e.add(id, Fail, found, "lower sandbox.max_memory below what there is, or the kernel chooses who dies")
	case budget > f.Memory/10*9:
		e.add(id, Warn, found, "lower sandbox.max_memory: others need some too, hotcell among them")
	case budget < set.DefaultMemory:
		e.add(id, Warn, found, fmt.Sprintf("a skill that states no limit needs %s: raise sandbox.max_memory", policies.Bytes(set.DefaultMemory)))
	default:
		e.ok(id, "%s", found)
	}
}

// userIDs: cells have ids of their own, which nobody else should have.
func (e *exam) userIDs() {
	const id = "user-ids"
	if e.elsewhere(id) {
		return
	}
	h := e.facts.Host
	found := fmt.Sprintf("no account has an id of the cells' range, %d to %d", e.facts.Settings.MinUID, e.facts.Settings.MaxUID)
	var note string
	if !h.SysResource {
		note = "; this process lacks CAP_SYS_RESOURCE, which hotcell does without: it only lowers limits"
	}
	e.either(id, len(h.Users) == 0, found+note, "accounts of this host have ids of the cells' range: "+word(strings.Join(h.Users, ", ")), Warn,
		"give these accounts other ids: cells would share their quotas")
}

// coreDumps: a pattern that is a pipe ignores the limit on core files.
func (e *exam) coreDumps() {
	const id = "core-dumps"
	if e.elsewhere(id) {
		return
	}
	pattern := e.facts.Host.CorePattern
	e.either(id, !strings.HasPrefix(pattern, "|"), "core_pattern is a file: the limit of 0 holds for all of a cell",
		"core_pattern is a pipe ("+word(strings.TrimPrefix(pattern, "|"))+"), which the limit of 0 does not stop; the runner is never dumped, a skill's processes may be",
		Warn, "set kernel.core_pattern to a plain file on the engine's host")
}

// size is an amount for people: "23.5 GiB".
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
