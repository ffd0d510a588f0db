package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

// cell: one cell was started just like a call's, and looked at itself from within.
func (e *exam) cell() {
	const id = "cell"
	c := e.facts.Cell
	parts := []struct {
		id      string
		judge   func(*wall.Probe) (faults []string, found string)
		control string // without which a pod may be
	}{
		{"cell-user", e.cellUser, ""}, {"cell-seccomp", e.cellSeccomp, ""}, {"cell-files", e.cellFiles, ""},
		{"cell-network", e.cellNetwork, ""}, {"cell-limits", e.cellLimits, lackPIDs}, {"cell-calls", e.cellCalls, ""},
	}
	switch {
	case e.noEngine(id):
	case c.Failed != "":
		e.add(id, Fail, "the cell that was to look at itself failed: "+c.Failed, "calls meet the same: see what the other checks say")
	case c.Probe == nil:
		e.add(id, Skip, "not checked: "+c.Skipped, c.Hint)
	default:
		e.ok(id, "one in %s started, looked at itself and is gone, in %s", word(c.Image), c.Took.Round(10*time.Millisecond))
		for _, p := range parts {
			faults, found := p.judge(c.Probe)
			switch {
			case e.onCluster() && p.id == "cell-network":
				e.podNetwork(p.id, faults)
				continue
			case e.lacking(lackSeccomp) && p.id == "cell-calls" && e.podCalls(p.id, c.Probe):
				continue
			}
			if len(faults) > 0 && e.lacking(p.control) {
				e.add(p.id, Warn, strings.Join(faults, "; ")+" (accepted: "+p.control+")", "see unenforced")
				continue
			}
			e.either(p.id, len(faults) == 0, found, strings.Join(faults, "; "), Fail, "no skill should run here before that is mended: "+e.whoEnforces())
		}
		return
	}
	for _, p := range parts {
		e.skip(p.id, "no cell has looked at itself")
	}
}

func (e *exam) whoEnforces() string {
	if e.underGVisor() {
		return "the runtime did not enforce what it was told"
	}
	if e.direct() {
		return "the runtime did not enforce what it was told"
	}
	if e.onCluster() {
		return "the cluster's nodes did not enforce what they were told"
	}
	return "the engine or its runtime did not enforce what it was told"
}

func (e *exam) cellUser(p *wall.Probe) (faults []string, found string) {
	set := e.facts.Settings
	if p.UID < set.MinUID || p.UID > set.MaxUID || p.GID != p.UID {
		faults = append(faults, fmt.Sprintf("runs as user %d, group %d", p.UID, p.GID))
	}
	if others := slices.DeleteFunc(slices.Clone(p.Groups), func(g int) bool { return g == p.GID }); len(others) > 0 {
		faults = append(faults, "has groups beside its own: "+strings.Trim(fmt.Sprint(others), "[]"))
	}
	for _, set := range []string{"CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"} {
		if v, err := strconv.ParseUint(p.Status[set], 16, 64); err != nil || v != 0 {
			faults = append(faults, set+" is "+word(p.Status[set]))
		}
	}
	if p.Status["NoNewPrivs"] != "1" {
		faults = append(faults, "NoNewPrivs is "+word(p.Status["NoNewPrivs"]))
	}
	return faults, fmt.Sprintf("user %d of its own, no group more, no capability, no new privileges", p.UID)
}

func (e *exam) cellSeccomp(p *wall.Probe) (faults []string, found string) {
	switch {
	case p.Status["Seccomp"] == "2":
		return nil, "a filter is in force (mode 2)"
	case e.underGVisor():
		return nil, "gVisor's kernel answers system calls without a filter, and is itself filtered on the host"
	}
	return []string{"Seccomp is " + word(p.Status["Seccomp"]) + ", not 2"}, ""
}

// harmless reports whether a kind of file system is made up by the kernel, so that writing to it reaches no disk. gVisor's
// kernel makes up cgroups and devices too.
func (e *exam) harmless(kind string) bool {
	kinds := []string{"proc", "tmpfs", "devpts", "mqueue", "devtmpfs"}
	if e.underGVisor() {
		kinds = append(kinds, "dev", "cgroup")
	}
	return slices.Contains(kinds, kind)
}

// The files of its node's disk that each container of a pod has: one for its last words, and one that is root's.
const (
	lastWords = "/dev/termination-log"
	hostsFile = "/etc/hosts"
)

// cellFiles: /etc/hosts and its like are mounts too, and all that does not come from the kernel has to be read-only.
func (e *exam) cellFiles(p *wall.Probe) (faults []string, found string) {
	root := false
	note := ""
	for _, m := range p.Mounts {
		root = root || m.At == "/" && m.ReadOnly
		switch {
		case !e.onCluster() || m.ReadOnly:
		case m.At == lastWords:
			note = ", but for a container's last words (" + lastWords + "), whose size is bounded"
			continue
		case m.At == hostsFile && m.Denied:
			continue
		}
		if !m.ReadOnly && !e.harmless(m.Kind) {
			faults = append(faults, word(m.At)+" ("+word(m.Kind)+") can be written")
		}
	}
	if !root && len(faults) == 0 {
		faults = append(faults, "/ is not mounted read-only")
	}
	if len(faults) > 5 {
		faults = append(faults[:5], "and more")
	}
	return faults, fmt.Sprintf("/ and all that comes from disk is read-only%s; %d mounts", note, len(p.Mounts))
}

func (e *exam) cellNetwork(p *wall.Probe) (faults []string, found string) {
	for _, name := range p.Interfaces {
		if name != "lo" {
			faults = append(faults, "has the network interface "+word(name))
		}
	}
	return faults, "only lo"
}

// memorySlack is by how much a container's own limit may be above a call's: where hotcell has a cgroup of its own around
// it, that one has the call's limit.
const memorySlack = 16 << 20

func (e *exam) cellLimits(p *wall.Probe) (faults []string, found string) {
	want := e.facts.Cell.Want
	if p.Files != want.Files {
		faults = append(faults, fmt.Sprintf("open files: %s instead of %d", count(p.Files), want.Files))
	}
	if p.Core != 0 {
		faults = append(faults, "core dumps are not off")
	}
	if e.underGVisor() {
		return faults, fmt.Sprintf("%d open files, no core dumps; the others are on the host's side and can't be seen under gVisor", want.Files)
	}
	if p.Memory < want.Memory || p.Memory > want.Memory+memorySlack {
		faults = append(faults, fmt.Sprintf("memory: %s instead of %s", quantity(p.Memory), quantity(want.Memory)))
	}
	switch {
	case p.Swap < 0:
		faults = append(faults, "swap: its limit is not to be seen")
	case p.Swap > 0:
		faults = append(faults, "swap: may be used")
	}
	pids := p.PIDs
	if e.onCluster() {
		pids = p.UserPIDs // a pod's own bound is its node's
	}
	if pids != want.PIDs {
		faults = append(faults, fmt.Sprintf("processes: %s instead of %d", count(pids), want.PIDs))
	}
	if p.CPU != want.CPU {
		faults = append(faults, fmt.Sprintf("processor: %s instead of %s", thousandths(p.CPU), thousandths(want.CPU)))
	}
	return faults, fmt.Sprintf("%s of memory and no swap, %d processes, %s cores, %d open files, no core dumps",
		quantity(want.Memory), want.PIDs, thousandths(want.CPU), want.Files)
}

func count(n int64) string {
	if n <= 0 {
		return quantity(n)
	}
	return strconv.FormatInt(n, 10)
}

func thousandths(n int64) string {
	if n <= 0 {
		return quantity(n)
	}
	return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)
}

// cellCalls: what the cell tried, none of which may work. gVisor has namespaces of its own to offer, which reach nothing.
func (e *exam) cellCalls(p *wall.Probe) (faults []string, found string) {
	tried := slices.Sorted(maps.Keys(p.Tries))
	for _, what := range tried {
		if p.Tries[what] == "" && !(e.underGVisor() && ownOfGVisor(what)) {
			faults = append(faults, word(what)+" worked")
		}
	}
	if len(tried) == 0 {
		faults = append(faults, "nothing was tried")
	}
	return faults, "refused: " + strings.Join(tried, ", ")
}

func ownOfGVisor(what string) bool {
	return slices.Contains([]string{wall.TryUserNS, wall.TryKeyctl, wall.TryPacket}, what)
}

// logs: the cell ran with the log driver that keeps nothing, or did not start.
func (e *exam) logs() {
	const id = "logs"
	switch {
	case e.noEngine(id):
	case e.facts.Cell.Probe == nil:
		e.skip(id, "no cell ran")
	default:
		e.ok(id, "the cell ran with driver none, so nothing that skills say gets onto the engine's disk (its default is %s)", word(e.facts.Engine.LogDriver))
	}
}
