package doctor

import (
	"fmt"
	"strings"
)

// seccomp: cells bring a profile of their own, which the engine must be able to set.
func (e *exam) seccomp() {
	if e.noEngine("seccomp") {
		return
	}
	options, has := e.facts.Engine.Option("seccomp")
	found := e.maker() + " can filter system calls; cells get hotcell's own profile"
	if profile := options["profile"]; has && profile != "" {
		found += fmt.Sprintf(" instead of the engine's (%s)", word(profile))
	}
	e.either("seccomp", has, found, e.maker()+" can't filter system calls, so cells don't start", Fail,
		"use a kernel with CONFIG_SECCOMP_FILTER and an engine built with seccomp")
}

// labels: AppArmor or SELinux, either of which is a second wall.
func (e *exam) labels() {
	if e.noEngine("lsm") {
		return
	}
	_, apparmor := e.facts.Engine.Option("apparmor")
	_, selinux := e.facts.Engine.Option("selinux")
	found := "AppArmor off, SELinux off"
	switch {
	case apparmor && e.direct():
		e.add("lsm", Warn, "AppArmor is on, and cells that are made without an engine have no profile of it", "an engine puts cells under docker-default: sandbox.driver: docker")
		return
	case apparmor && selinux:
		found = "AppArmor and SELinux on"
	case apparmor:
		found = "AppArmor on: cells run under docker-default; SELinux off"
	case selinux:
		found = "SELinux on: the engine labels each cell; AppArmor off"
	}
	if c := e.facts.Cell.Probe; apparmor && c != nil && strings.HasPrefix(c.Label, "unconfined") {
		e.add("lsm", Fail, found+", but the cell's label was "+word(c.Label), "no skill should run here before that is mended: load docker-default, or restart the engine")
		return
	}
	e.either("lsm", apparmor || selinux, found, found, Warn,
		"enable one of them on "+e.host()+": a second wall behind the first, for /proc and /sys above all")
}

// userns: an engine that maps ids must map those of cells.
func (e *exam) userns() {
	if e.noEngine("userns") {
		return
	}
	if _, on := e.facts.Engine.Option("userns"); !on {
		e.add("userns", OK, "off: the engine's root is the host's; cells run as users of their own who can't become root",
			"userns-remap in daemon.json, on an engine that is kept for hotcell, is one more wall")
		return
	}
	e.mapped("userns", "on: a cell's root would be nobody on the host")
}

func (e *exam) rootless() {
	if e.noEngine("rootless") {
		return
	}
	if !e.rootlessEngine() {
		e.ok("rootless", "no: the engine runs as root")
		return
	}
	e.mapped("rootless", "yes: the engine runs as an ordinary user")
}

func (e *exam) rootlessEngine() bool {
	if e.facts.Engine == nil {
		return false
	}
	_, on := e.facts.Engine.Option("rootless")
	return on
}

// mapped is for engines whose user ids are mapped: the usual map of 65536 ids leaves out those of cells. Only a cell can
// tell whether it does.
func (e *exam) mapped(id, found string) {
	set := e.facts.Settings
	hint := fmt.Sprintf("cells have the ids %d to %d: give the engine's user at least %d ids in /etc/subuid and /etc/subgid", set.MinUID, set.MaxUID, set.MaxUID+1)
	switch c := e.facts.Cell; {
	case c.Probe != nil:
		e.ok(id, "%s; it maps the ids of cells", found)
	case unmapped(c.Failed):
		e.add(id, Fail, found+"; it does not map the ids of cells: "+c.Failed, hint)
	default:
		e.add(id, Warn, found+"; whether it maps the ids of cells is not known, since no cell has run", hint)
	}
}

// unmapped reports whether a runtime's words say that a user namespace lacks an id.
func unmapped(words string) bool {
	for _, w := range []string{"unmapped user", "unmapped group", "setgroups: invalid argument", "setgid: invalid argument", "setuid: invalid argument",
		"cannot set uid", "cannot set gid"} {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}
