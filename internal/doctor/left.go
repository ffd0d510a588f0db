package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

const kindVolume = "volume"

// whose says who owns a thing.
type whose string

const (
	ofLiving  whose = "alive"
	ofDead    whose = "dead"
	ofUnknown whose = "unknown"
)

// owner tells whether a thing's supervisor lives, by its file in the data folder.
func (e *exam) owner(instance string) whose {
	for _, o := range e.facts.Left.Owners {
		switch {
		case o.Instance != instance:
		case o.Alive:
			return ofLiving
		default:
			return ofDead
		}
	}
	return ofUnknown
}

// expired reports whether a thing is garbage whoever owns it.
func (e *exam) expired(l sandbox.Listed) bool {
	at, err := strconv.ParseInt(l.Labels[sandbox.LabelExpires], 10, 64)
	return err == nil && at > 0 && e.facts.Left.At.After(time.Unix(at, 0))
}

// leftovers: cells, fills and cgroups, by whether their owner lives, and volumes, which are kept on purpose.
func (e *exam) leftovers() {
	kinds := []struct{ id, kind, what string }{
		{"left-cells", "cell", "cells"}, {"left-fills", "fill", "unfinished volumes"}, {"left-cgroups", "cgroup", "cgroups"},
	}
	for _, k := range kinds {
		switch {
		case e.onCluster() && k.kind != "cell": // a cluster has none
		case e.noNamespaceOf(k.id):
		case e.facts.Left.Failed != "":
			e.skip(k.id, "%s", e.facts.Left.Failed)
		default:
			e.leftOf(k.id, e.facts.Left.Things, k.kind, k.what)
		}
	}
	switch {
	case e.noNamespaceOf("left-volumes"):
	case e.facts.Left.Failed != "":
		e.skip("left-volumes", "%s", e.facts.Left.Failed)
	default:
		e.volumes()
	}
}

// noNamespaceOf skips a check of what is left where nobody can be asked for it.
func (e *exam) noNamespaceOf(id string) bool {
	if e.onCluster() {
		return e.noNamespace(id)
	}
	return e.noEngine(id)
}

func (e *exam) leftOf(id string, things []sandbox.Listed, kind, what string) {
	count := map[whose]int{}
	var garbage []string
	for _, l := range things {
		if l.Kind != kind {
			continue
		}
		owner := e.owner(l.Labels[sandbox.LabelInstance])
		count[owner]++
		if owner == ofDead || owner == ofUnknown && e.expired(l) {
			garbage = append(garbage, word(l.Name)+" ("+standing(l)+")")
		}
	}
	if count[ofLiving]+count[ofDead]+count[ofUnknown] == 0 {
		e.ok(id, "no %s", what)
		return
	}
	found := fmt.Sprintf("%s: %d whose owner is alive, %d dead, %d unknown", what, count[ofLiving], count[ofDead], count[ofUnknown])
	if len(garbage) == 0 {
		e.ok(id, "%s", found)
		return
	}
	e.add(id, Warn, fmt.Sprintf("%s; left over: %s", found, few(garbage)), "'hotcell serve' sweeps what is left over when it starts and every minute")
}

// standing is an engine's word for where a thing stands.
func standing(l sandbox.Listed) string {
	if l.State == "" {
		return "there"
	}
	return word(l.State)
}

// few names the first of a list, and how many more there are.
func few(list []string) string {
	const most = 3
	slices.Sort(list)
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

func (e *exam) volumes() {
	n, bytes, sized := 0, int64(0), 0
	for _, l := range e.facts.Left.Things {
		if l.Kind != kindVolume {
			continue
		}
		n++
		if b, ok := e.facts.Left.Bytes[l.Name]; ok && b >= 0 {
			bytes += b
			sized++
		}
	}
	switch {
	case n == 0:
		e.ok("left-volumes", "no volumes")
	case sized == n:
		e.ok("left-volumes", "%d volumes, %s: runners and bundles, kept for the next calls", n, size(bytes))
	case sized > 0:
		e.ok("left-volumes", "%d volumes, %d of them %s: runners and bundles, kept for the next calls", n, sized, size(bytes))
	default:
		e.ok("left-volumes", "%d volumes of unknown size: runners and bundles, kept for the next calls", n)
	}
}

// owners: the supervisors of the data folder, and cells that would not die, or of which their supervisor knew no end when it
// stopped.
func (e *exam) owners() {
	const id = "supervisors"
	left := e.facts.Left
	if left.NoOwners != "" {
		e.add(id, Warn, "not known: "+left.NoOwners, "run 'hotcell doctor' as the user whose data folder it is")
		return
	}
	var alive, dead int
	var poisoned []string
	for _, o := range left.Owners {
		state := "dead"
		if o.Alive {
			alive, state = alive+1, "alive"
		} else {
			dead++
		}
		for _, cell := range o.Poisoned {
			poisoned = append(poisoned, fmt.Sprintf("%s (of %s, %s)", word(cell), word(o.Instance), state))
		}
	}
	e.ok(id, "%d alive, %d dead in the data folder", alive, dead)
	e.either("poisoned", len(poisoned) == 0, "no cell refuses to die",
		"not known to be gone: "+few(poisoned), Warn, "look at the engine and its host: 'docker ps -a' names those that are there; a sweep removes them once the engine can, perhaps after its restart")
}
