package doctor

// Examine judges what was gathered. It is pure.
func Examine(f Facts) Report {
	e := &exam{facts: f}
	for _, look := range e.looks() {
		look()
	}
	r := Report{OK: true, Checks: e.checks}
	r.OK = r.count(Fail) == 0
	return r
}

// looks are the checks, in their order.
func (e *exam) looks() []func() {
	if e.onCluster() {
		return e.clusterLooks()
	}
	if e.direct() {
		return []func(){
			e.oci, e.platform, e.runtimes, e.runc, e.kernel,
			e.cgroups, e.evidence, e.limits,
			e.seccomp, e.labels, e.ownUsers,
			e.memory, e.userIDs, e.coreDumps,
			e.dataFolder, e.socket, e.images, e.pins, e.credentials,
			e.cell, e.controls,
			e.leftovers, e.owners,
		}
	}
	return []func(){
		e.engine, e.api, e.platform, e.storage, e.runtimes, e.oci, e.runc, e.containerd, e.kernel,
		e.cgroups, e.evidence, e.limits,
		e.seccomp, e.labels, e.userns, e.rootless, e.liveRestore, e.warnings,
		e.memory, e.userIDs, e.coreDumps, e.clock,
		e.dataFolder, e.engineSpace, e.socket, e.images, e.pins, e.credentials,
		e.cell, e.logs, e.controls,
		e.leftovers, e.ociLeft, e.owners,
	}
}

// noEngine skips a check that needs the engine's word where there is none.
func (e *exam) noEngine(id string) bool {
	if e.onCluster() {
		return e.noCluster(id)
	}
	if e.facts.Engine != nil {
		return false
	}
	why := "no engine answers"
	if e.direct() {
		why = "no cell can be made"
	}
	e.skip(id, "%s", why)
	return true
}

// elsewhere skips a check of the engine's own host where that is another one.
func (e *exam) elsewhere(id string) bool {
	if e.noEngine(id) {
		return true
	}
	if !e.facts.local() {
		e.skip(id, "the engine is not on this host")
		return true
	}
	return false
}
