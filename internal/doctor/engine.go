package doctor

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// engine: does one answer?
func (e *exam) engine() {
	f := e.facts.Engine
	if f == nil {
		why, hint := noEngine(e.facts.NoEngine)
		e.add("engine", Fail, why, hint)
		return
	}
	found := fmt.Sprintf("docker %s at %s", word(f.Version), word(f.Address))
	if f.System != "" {
		found += ", on " + word(f.System)
	}
	if !unixAddress(f.Address) || !e.facts.local() {
		found += ", not this host"
	}
	e.either("engine", f.Took < 2*time.Second, found,
		fmt.Sprintf("%s, and it takes %s to answer", found, f.Took.Round(100*time.Millisecond)), Warn, "look at its load: each call asks it several times")
}

// noEngine takes a driver's words for an engine that does not answer apart: what it found, and what to do.
func noEngine(words string) (why, hint string) {
	const start = "start it ('systemctl start docker', or scripts/engine in hotcell's sources), or name another with DOCKER_HOST"
	why = strings.TrimSuffix(words, ": "+sandbox.ErrUnavailable.Error())
	switch {
	case strings.HasPrefix(why, "docker host "):
		return why, "set DOCKER_HOST to unix:///PATH or tcp://HOST:PORT, or leave it unset"
	case strings.Contains(why, " in time") || strings.Contains(why, "no answer within"):
		return why, "it hangs: restart it ('systemctl restart docker'), or name another with DOCKER_HOST"
	}
	if found, ok := strings.CutSuffix(why, ": start it, or set DOCKER_HOST"); ok {
		return found, start
	}
	if found, ok := strings.CutSuffix(why, ": run as a user who may open it, or set DOCKER_HOST"); ok {
		return found, "run hotcell as a user who may open it, or name another with DOCKER_HOST"
	}
	return why, start
}

func unixAddress(address string) bool { return strings.HasPrefix(address, "unix://") }

func (e *exam) api() {
	if e.noEngine("api") {
		return
	}
	f := e.facts.Engine
	found := fmt.Sprintf("%s is spoken; the engine knows %s to %s", word(f.API), word(f.APIOldest), word(f.APINewest))
	e.either("api", f.APILeast == "", found, found, Fail, "cells need API "+word(f.APILeast)+": upgrade to Docker 20.10 or newer")
}

// platform: is there a runner that the engine can run?
func (e *exam) platform() {
	if e.noEngine("platform") {
		return
	}
	f := e.facts.Engine
	found := word(f.OS) + "/" + word(f.Arch)
	switch {
	case f.OS != "linux":
		e.add("platform", Fail, found, "cells are Linux containers: use an engine that runs those")
	case !slices.Contains(e.facts.Settings.Runners, f.Arch):
		e.add("platform", Fail, found+"; no runner for it is built in", "build hotcell with 'make build', which makes runners for amd64 and arm64")
	default:
		e.ok("platform", "%s, its runner is built in", found)
	}
}

func (e *exam) storage() {
	if e.noEngine("storage") {
		return
	}
	f := e.facts.Engine
	found := word(f.Storage)
	if f.Backing != "" {
		found += " on " + word(f.Backing)
	}
	if f.ImageStore != "" {
		found += ", images in " + word(f.ImageStore)
	}
	slow := f.Storage == "vfs" || f.Storage == "devicemapper" || f.Storage == "aufs"
	e.either("storage", !slow, found, found, Warn, "cells start slowly on it: use overlay2 or containerd's overlayfs")
}

// runtimes: is the configured one there, and is gVisor?
func (e *exam) runtimes() {
	if e.noEngine("runtime") {
		return
	}
	f, want := e.facts.Engine, e.facts.Settings.Runtime
	_, there := f.Runtimes[want]
	if why := e.facts.Direct.refused(want); e.direct() && why != "" {
		e.add("runtime", Fail, "sandbox.runtime is "+word(want)+", and "+clean(why, 2*maxWord), "set another sandbox.runtime: "+names(f.Runtimes))
		return
	}
	if want != "" && !there {
		e.add("runtime", Fail, fmt.Sprintf("sandbox.runtime is %s, %s has %s", word(want), e.maker(), names(f.Runtimes)), e.howToGet(want))
		return
	}
	found := word(f.DefaultRuntime) + ", " + e.maker() + "'s default"
	if want != "" {
		found = word(want) + ", by sandbox.runtime"
	}
	if gvisor := e.gvisor(); gvisor != "" {
		if gvisor == want {
			e.ok("runtime", "%s", found)
			return
		}
		e.add("runtime", OK, found+"; "+gvisor+" is there too", "sandbox.runtime: "+gvisor+" puts a kernel of its own between skills and the host's")
		return
	}
	e.add("runtime", OK, found+"; runsc is not there, so skills speak to the host's kernel", e.howToGet("runsc"))
}

func (e *exam) howToGet(runtime string) string {
	if e.direct() {
		return "install " + word(runtime) + " on this host, or set another sandbox.runtime; without one hotcell takes runc, crun or runsc, the first that is there"
	}
	if runtime == "runsc" {
		return "scripts/runsc in hotcell's sources builds gVisor's runsc and registers it"
	}
	return "register it under runtimes in the engine's daemon.json, or set another sandbox.runtime"
}

// gvisor returns the name under which the engine has gVisor, "" if it hasn't.
func (e *exam) gvisor() string {
	for _, name := range slices.Sorted(maps.Keys(e.facts.Engine.Runtimes)) {
		if isGVisor(name, e.facts.Engine.Runtimes[name]) {
			return name
		}
	}
	return ""
}

func isGVisor(name, program string) bool {
	return strings.HasPrefix(name, "runsc") || strings.HasPrefix(path.Base(program), "runsc") || strings.HasPrefix(program, "io.containerd.runsc.")
}

// underGVisor reports whether cells run under gVisor, where a kernel of its own says what they are.
func (e *exam) underGVisor() bool {
	name := e.facts.Settings.Runtime
	if c := e.facts.Cluster.Facts; e.onCluster() {
		return c != nil && name != "" && isGVisor(name, c.Classes[name])
	}
	if e.facts.Engine == nil {
		return false
	}
	if name == "" {
		name = e.facts.Engine.DefaultRuntime
	}
	return isGVisor(name, e.facts.Engine.Runtimes[name])
}

func names(m map[string]string) string {
	keys := slices.Sorted(maps.Keys(m))
	for i := range keys {
		keys[i] = word(keys[i])
	}
	return strings.Join(keys, ", ")
}

func (e *exam) containerd() {
	if !e.noEngine("containerd") {
		e.add("containerd", Skip, word(e.facts.Engine.Containerd)+", not compared with its advisories", "")
	}
}

// kernel: only a cell's own try says whether AF_ALG, the way of CVE-2026-31431, is out of reach.
func (e *exam) kernel() {
	const id, cve = "kernel", "AF_ALG (CVE-2026-31431)"
	if e.noEngine(id) {
		return
	}
	found, probe := word(e.facts.Engine.Kernel), e.facts.Cell.Probe
	switch {
	case probe == nil:
		e.add(id, Skip, found+"; whether cells reach "+cve+" was not tried", "")
	case probe.Tries[wall.TryAlg] == "":
		e.add(id, Fail, found+"; cells reach "+cve, "no skill should run here: "+e.whoEnforces())
	default:
		e.ok(id, "%s; cells don't reach %s", found, cve)
	}
}

// warnings: what the engine itself complains about.
func (e *exam) warnings() {
	if e.noEngine("warnings") {
		return
	}
	var said []string
	for _, w := range e.facts.Engine.Warnings {
		// Limits have checks of their own, and cells have no bridge.
		if !strings.Contains(w, "bridge-nf-call") && !strings.Contains(w, " limit support") && len(said) < 5 {
			said = append(said, word(strings.TrimPrefix(w, "WARNING: ")))
		}
	}
	e.either("warnings", len(said) == 0, "the engine has none that matter to cells", strings.Join(said, "; "), Warn, "see to what the engine warns of")
}

// clock: labels say when things expire, and other hosts read them.
func (e *exam) clock() {
	if e.noEngine("clock") {
		return
	}
	if e.facts.Engine.Clock.IsZero() {
		e.skip("clock", "the engine does not tell its time")
		return
	}
	const most = 5 * time.Second
	skew := e.facts.Skew
	e.either("clock", skew.Abs() <= most, "the engine's and this host's agree",
		fmt.Sprintf("the engine's differs by %s", skew.Abs().Round(time.Second)), Warn, "keep both with NTP: what is left over is told by its age")
}

func (e *exam) liveRestore() {
	if e.noEngine("live-restore") {
		return
	}
	if !e.facts.Engine.LiveRestore {
		e.ok("live-restore", "off: cells end with the engine")
		return
	}
	e.ok("live-restore", "on: cells outlive the engine, but lose their streams and end; calls in flight fail all the same")
}
