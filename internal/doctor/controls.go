package doctor

import (
	"slices"
	"strings"
)

// control is something that must hold for every cell, and the checks that tell.
type control struct {
	what   string
	checks []string
	host   bool // only the host's side has it under gVisor
}

func controlled() []control {
	return []control{
		{"memory", []string{"limit-memory", "cell-limits"}, true},
		{"no swap", []string{"limit-swap", "cell-limits"}, true},
		{"processes", []string{"limit-pids", "cell-limits"}, true},
		{"processor", []string{"limit-cpu", "cell-limits"}, true},
		{"open files", []string{"cell-limits"}, false},
		{"user and privileges", []string{"cell-user"}, false},
		{"system calls", []string{"seccomp", "cell-seccomp", "cell-calls"}, false},
		{"read-only files", []string{"cell-files"}, false},
		{"no network", []string{"cell-network", "network-policy"}, false},
	}
}

// controls: in one line, what is enforced here.
func (e *exam) controls() {
	const id = "controls"
	if e.noEngine(id) {
		return
	}
	var held, broken, unseen, partly []string
	for _, c := range controlled() {
		switch worst := e.worst(c.checks); {
		case worst == Fail:
			broken = append(broken, c.what)
		case worst == Warn:
			partly = append(partly, c.what)
		case worst == Skip, c.host && e.underGVisor():
			unseen = append(unseen, c.what)
		default:
			held = append(held, c.what)
		}
	}
	var found []string
	for _, part := range []struct {
		text string
		list []string
	}{{"enforced", held}, {"NOT enforced", broken}, {"not wholly enforced", partly}, {"claimed by " + e.maker() + ", not seen in a cell", unseen}} {
		if len(part.list) > 0 {
			found = append(found, part.text+": "+strings.Join(part.list, ", "))
		}
	}
	level, hint := OK, ""
	switch {
	case len(broken) > 0:
		level, hint = Fail, "see the checks that failed"
	case e.facts.Cell.Probe == nil:
		level, hint = Warn, "see why no cell ran"
	case len(partly) > 0:
		level, hint = Warn, "see the checks that are worth a look"
	}
	e.add(id, level, strings.Join(found, "; "), hint)
}

// worst returns the worst level of some checks: failed, skipped, worth a look.
func (e *exam) worst(ids []string) Level {
	rank := []Level{OK, Warn, Skip, Fail}
	worst := OK
	for _, c := range e.checks {
		if slices.Contains(ids, c.ID) && slices.Index(rank, c.Level) > slices.Index(rank, worst) {
			worst = c.Level
		}
	}
	return worst
}
