package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// The words of controls that a pod may be without.
const (
	lackSeccomp = "seccomp"
	lackNetwork = "network"
	lackPIDs    = "pids"
)

// runnerImage: did nodes get it, and is it of exactly this hotcell? Two cells were made from it.
func (e *exam) runnerImage() {
	const id = "runner-image"
	if e.noNamespace(id) {
		return
	}
	f, try := e.facts.Cluster.Facts, e.facts.Cluster.Network
	ref := word(f.RunnerImage)
	switch {
	case try.Came:
		e.ok(id, "%s was there for node %s, and has the runner and the engine of exactly this hotcell", ref, word(try.Node))
	case strings.Contains(try.Failed, "of another hotcell"):
		e.add(id, Fail, ref+" is of another hotcell", "make this one's ('hotcell images runner'), put it where the nodes find it, and name it in kubernetes.runner_image")
	case strings.Contains(try.Failed, "kubernetes.runner_image"):
		e.add(id, Fail, clean(try.Failed, maxFound), "put it where the nodes find it ('hotcell images runner' makes it), and name it in kubernetes.runner_image")
	default:
		e.skip(id, "no cell came up")
	}
}

// classes: is the runtime class there, and did cells start with it?
func (e *exam) classes() {
	const id = "runtime"
	if e.noCluster(id) {
		return
	}
	f, want := e.facts.Cluster.Facts, e.facts.Settings.Runtime
	names := slices.Sorted(maps.Keys(f.Classes))
	for i := range names {
		names[i] = word(names[i])
	}
	handler, there := f.Classes[want]
	switch {
	case want == "" && f.ClassesFailed != "":
		e.ok(id, "the nodes' default; which runtime classes there are is not known")
	case want == "" && e.gvisorClass() != "":
		e.add(id, OK, "the nodes' default; the cluster has the runtime class "+word(e.gvisorClass()), "sandbox.runtime: "+word(e.gvisorClass())+" puts a kernel of its own between skills and the nodes'")
	case want == "":
		e.ok(id, "the nodes' default, so skills speak to the nodes' kernel; runtime classes: %s", orNone(few(names)))
	case f.ClassesFailed == "" && !there:
		e.add(id, Fail, "sandbox.runtime is "+word(want)+", and the cluster has the runtime classes: "+orNone(few(names)), "make a RuntimeClass of that name, or name another in sandbox.runtime")
	case e.facts.Cluster.Network.Came:
		e.ok(id, "%s, by sandbox.runtime, handler %s: cells started with it", word(want), word(handler))
	default:
		e.add(id, Warn, fmt.Sprintf("%s, by sandbox.runtime, handler %s; no cell has started with it", word(want), word(handler)), "see why no cell came up, at network-policy")
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// gvisorClass is the runtime class with gVisor, "" where there is none.
func (e *exam) gvisorClass() string {
	for _, name := range slices.Sorted(maps.Keys(e.facts.Cluster.Facts.Classes)) {
		if isGVisor(name, e.facts.Cluster.Facts.Classes[name]) {
			return name
		}
	}
	return ""
}

// networkPolicy: can a cell reach anything? One tried, and what the configuration says of it is compared.
func (e *exam) networkPolicy() {
	const id = "network-policy"
	if e.noNamespace(id) {
		return
	}
	c := e.facts.Cluster
	try := c.Network
	switch {
	case c.Facts.DenyAll == "open":
		e.add(id, Fail, "the NetworkPolicy hotcell-deny-all lets something through: somebody has changed it", "delete it: the next cell makes it anew; or apply deploy/kubernetes/cells/network.yaml")
	case try.Failed != "" && c.Facts.DenyAll == "none" && !c.may("create networkpolicies"):
		e.add(id, Fail, "there is no NetworkPolicy hotcell-deny-all, and this account may not make it", "kubectl apply -f deploy/kubernetes/cells/network.yaml")
	case try.Failed != "":
		e.add(id, Skip, "not checked: the cells that were to try the network failed: "+clean(try.Failed, maxFound), "calls meet the same: see what the other checks say")
	case len(try.Targets) == 0:
		e.skip(id, "there was nothing to reach")
	default:
		e.judgeNetwork(id)
	}
	if try.Left != "" {
		e.add("probe-left", Warn, "a cell of the try may not be gone: "+clean(try.Left, maxFound), "the next 'hotcell serve' removes it, or the cluster, five minutes later")
	}
}

// may reports whether the account has a right.
func (c *Cluster) may(what string) bool {
	return slices.ContainsFunc(c.Facts.Needed, func(r sandbox.ClusterRight) bool { return r.What == what && r.Allowed })
}

func (e *exam) judgeNetwork(id string) {
	c := e.facts.Cluster
	open, late, shut := sorted(c.Network.Targets)
	accepted := slices.Contains(c.Accepted, lackNetwork)
	reached := "NetworkPolicy is NOT enforced: a cell reached " + strings.Join(open, ", ")
	if len(shut)+len(late) > 0 && len(open) > 0 {
		reached = "NetworkPolicy is not enforced for all: a cell reached " + strings.Join(open, ", ") + "; not " + strings.Join(append(late, shut...), ", ")
	}
	const plugin = "a network plugin that enforces NetworkPolicy closes it (Calico, Cilium)"
	switch {
	case len(open) > 0 && c.Said:
		e.add(id, Fail, reached+"; but kubernetes.network_policy says that it is enforced", "no skill should run here: say network_policy: unknown until it holds; "+plugin)
	case len(open) > 0 && accepted:
		e.add(id, Warn, reached+" (accepted: network)", plugin)
	case len(open) > 0:
		e.add(id, Fail, reached+"; that is not accepted, so no cell is made", plugin+"; or accept it: sandbox.accept_unenforced: [network]")
	case len(late) > 0:
		e.add(id, Warn, "NetworkPolicy is enforced late: a new cell reached "+strings.Join(late, ", "), "cells have a network in their first moments: ask your network plugin to hold pods until its policies stand")
	case c.Said:
		e.ok(id, "enforced, as kubernetes.network_policy says: a cell reached none of %s", strings.Join(shut, ", "))
	case accepted:
		e.add(id, OK, "enforced: a cell reached none of "+strings.Join(shut, ", "), "say kubernetes.network_policy: enforced, and `network` need not be accepted any more")
	default:
		e.add(id, Fail, "enforced, as it seems: a cell reached none of "+strings.Join(shut, ", ")+"; but kubernetes.network_policy does not say so, so no cell is made", "say kubernetes.network_policy: enforced")
	}
}

// sorted tells what was reached to the last, what only at first, and what never.
func sorted(all []sandbox.TriedTarget) (open, late, shut []string) {
	for _, t := range all {
		name := clean(t.Name, maxWord)
		switch {
		case t.Open:
			open = append(open, name+" at "+word(t.At))
		case t.Got > 0:
			late = append(late, fmt.Sprintf("%s for its first %d ms", name, t.Last))
		default:
			shut = append(shut, name)
		}
	}
	return open, late, shut
}

// unenforced: what are cells without, and is that accepted?
func (e *exam) unenforced() {
	const id = "unenforced"
	c, lacks := e.facts.Cluster, e.facts.Cell.Lacks
	switch {
	case e.noCluster(id):
		return
	case e.facts.Cell.Probe == nil:
		e.skip(id, "no cell has looked at itself")
		return
	}
	var refused []string
	for _, w := range lacks {
		if !slices.Contains(c.Accepted, w) {
			refused = append(refused, word(w))
		}
	}
	idle := slices.DeleteFunc(slices.Clone(c.Accepted), func(w string) bool { return slices.Contains(lacks, w) })
	const doc = "docs/kubernetes.md says what each means"
	switch {
	case len(refused) > 0:
		e.add(id, Fail, "no cell is made: a pod here lacks "+strings.Join(lacks, ", ")+", of which not accepted: "+strings.Join(refused, ", "),
			"sandbox.accept_unenforced: ["+strings.Join(lacks, ", ")+"]; "+doc)
	case len(lacks) > 0 && len(idle) > 0:
		e.add(id, Warn, "cells are without "+strings.Join(lacks, ", ")+", all accepted", "accepted in vain: "+strings.Join(idle, ", ")+"; "+doc)
	case len(lacks) > 0:
		e.add(id, Warn, "cells are without "+strings.Join(lacks, ", ")+", all accepted (sandbox.accept_unenforced)", doc)
	default:
		e.ok(id, "cells have all controls")
	}
}

// lacking reports whether cells are without a control, as their own record says, and the operator has accepted that.
func (e *exam) lacking(control string) bool {
	return e.onCluster() && slices.Contains(e.facts.Cell.Lacks, control) && slices.Contains(e.facts.Cluster.Accepted, control)
}

// podNetwork: a pod has an interface. What that reaches, two cells have tried.
func (e *exam) podNetwork(id string, faults []string) {
	found := strings.Join(faults, "; ")
	if found == "" {
		e.ok(id, "only lo")
		return
	}
	switch level := e.worst([]string{"network-policy"}); {
	case level == Skip:
		e.skip(id, "%s; what that reaches was not tried", found)
	case level == OK || e.shutNetwork():
		e.ok(id, "%s, which NetworkPolicy closes, as was tried", found)
	default:
		e.add(id, level, found+", which reaches something", "see network-policy")
	}
}

// podCalls: a node's own profile may permit what hotcell's refuses, and nothing else. It reports whether it has judged that.
func (e *exam) podCalls(id string, p *wall.Probe) bool {
	var worked []string
	for what, why := range p.Tries {
		if why == "" {
			worked = append(worked, what)
		}
	}
	bySeccomp := []string{wall.TryAlg, wall.TryVsock, wall.TryIOUring}
	if len(worked) == 0 || slices.ContainsFunc(worked, func(w string) bool { return !slices.Contains(bySeccomp, w) }) {
		return false
	}
	slices.Sort(worked)
	hint := "see unenforced"
	if slices.Contains(worked, wall.TryAlg) {
		hint = "AF_ALG is the way of CVE-2026-31431: nodes need a kernel that mends it, or a runtime whose profile refuses it"
	}
	e.add(id, Warn, strings.Join(worked, " and ")+" worked, which hotcell's own profile refuses (accepted: seccomp)", hint)
	return true
}

// shutNetwork reports whether a cell reached nothing, whatever the configuration says of that.
func (e *exam) shutNetwork() bool {
	open, late, shut := sorted(e.facts.Cluster.Network.Targets)
	return len(open)+len(late) == 0 && len(shut) > 0 && e.facts.Cluster.Facts.DenyAll != "open"
}
