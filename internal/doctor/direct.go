package doctor

import (
	"fmt"
	"strings"
)

// DriverOCI is the word of [Settings].Driver for cells that a runtime makes without an engine.
const DriverOCI = "oci"

// Direct is what this host has for cells without an engine.
type Direct struct {
	Asked    bool
	Runtimes []Runtime // the one that would be used first
	Cgroup   string    // "1", "2"; "" where there are none
	Hybrid   bool      // version 1, with a version 2 beside it
	Why      string    // why no cell can be made so; "": they can
	UserNS   int       // user namespaces that the kernel allows; -1: unknown
}

// Runtime is a program that makes cells.
type Runtime struct {
	Name, Path, Version string
	Why                 string // why it cannot be used here; "": it can
}

// direct reports whether the cells are made without an engine.
func (e *exam) direct() bool { return e.facts.Settings.Driver == DriverOCI }

// maker is who limits and shuts off cells.
func (e *exam) maker() string {
	if e.onCluster() {
		return "the cluster"
	}
	if e.direct() {
		return "this host"
	}
	return "the engine"
}

// host is where cells are.
func (e *exam) host() string {
	if e.direct() {
		return "this host"
	}
	return "the engine's host"
}

// oci: can cells be made without an engine? It is a fault only where they are to be.
func (e *exam) oci() {
	const id = "oci"
	d := e.facts.Direct
	if !d.Asked {
		e.skip(id, "nobody has looked for runtimes")
		return
	}
	good, bad := d.runtimes()
	found := "no runtime is on this host"
	if len(good) > 0 {
		found = strings.Join(good, ", ")
	}
	if len(bad) > 0 {
		found += "; " + strings.Join(bad, "; ")
	}
	found += "; " + d.groups()
	if d.UserNS >= 0 {
		found += fmt.Sprintf("; %d user namespaces allowed, and cells need none", d.UserNS)
	}
	switch {
	case d.Why == "" && e.direct():
		e.ok(id, "cells are made without an engine: %s", found)
	case d.Why == "":
		e.add(id, OK, "cells could be made without an engine: "+found, "sandbox.driver: oci, with images from 'hotcell images import'")
	case e.direct():
		e.add(id, Fail, "no cell can be made: "+clean(d.Why, 2*maxWord)+" ("+found+")", "install runc 1.1 or newer and run hotcell as root, or use an engine: sandbox.driver: docker")
	default:
		e.add(id, OK, "cells can't be made without an engine: "+clean(d.Why, 2*maxWord)+" ("+found+")", "")
	}
}

// runtimes tells which there are, and which can't be used.
func (d *Direct) runtimes() (good, bad []string) {
	for _, r := range d.Runtimes {
		if r.Why != "" {
			bad = append(bad, clean(r.Why, 2*maxWord))
			continue
		}
		good = append(good, fmt.Sprintf("%s %s at %s", word(r.Name), word(r.Version), word(r.Path)))
	}
	return good, bad
}

// refused says why a runtime cannot be used here, "" for one that can or is not there.
func (d *Direct) refused(name string) string {
	for _, r := range d.Runtimes {
		if r.Name == name {
			return r.Why
		}
	}
	return ""
}

func (d *Direct) groups() string {
	switch {
	case d.Cgroup == "":
		return "no control groups"
	case d.Hybrid:
		return "control groups of version " + word(d.Cgroup) + ", beside those of version 2 (hybrid)"
	}
	return "control groups of version " + word(d.Cgroup)
}

// ociLeft: cells of the driver oci, which no engine lists.
func (e *exam) ociLeft() {
	const id = "oci-left"
	switch {
	case e.direct(): // left-cells tells
	case !e.facts.Direct.Asked:
		e.skip(id, "nobody has looked")
	case e.facts.Left.DirectFailed != "":
		e.skip(id, "%s", e.facts.Left.DirectFailed)
	default:
		e.leftOf(id, e.facts.Left.Direct, "cell", "cells of the driver oci")
	}
}

// ownUsers: without an engine there are no user namespaces.
func (e *exam) ownUsers() {
	if !e.noEngine("userns") {
		e.ok("userns", "none: cells run as users of their own, who can't become root")
	}
}
