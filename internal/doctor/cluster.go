package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// DriverKubernetes is the word of [Settings].Driver for cells that are pods.
const DriverKubernetes = "kubernetes"

// onCluster reports whether cells are pods.
func (e *exam) onCluster() bool { return e.facts.Settings.Driver == DriverKubernetes }

// clusterLooks are the checks of a cluster, in their order.
func (e *exam) clusterLooks() []func() {
	return []func(){
		e.cluster, e.nodes, e.namespace, e.podSecurity, e.rights, e.leastRights, e.quota, e.tenants, e.runnerImage, e.classes, e.networkPolicy,
		e.dataFolder, e.socket, e.images, e.pins, e.credentials,
		e.cell, e.unenforced, e.controls,
		e.leftovers, e.owners,
	}
}

// noCluster skips a check that needs a cluster's word where there is none.
func (e *exam) noCluster(id string) bool {
	if e.facts.Cluster.Facts != nil {
		return false
	}
	e.skip(id, "no cluster answers")
	return true
}

// noNamespace skips a check of the namespace where there is none.
func (e *exam) noNamespace(id string) bool {
	if e.noCluster(id) {
		return true
	}
	if e.facts.Cluster.Facts.NoNamespace {
		e.skip(id, "there is no namespace for cells")
		return true
	}
	return false
}

// cluster: does one answer, and whom does it take hotcell for?
func (e *exam) cluster() {
	const id = "cluster"
	f := e.facts.Cluster.Facts
	if f == nil {
		e.add(id, Fail, clean(e.facts.Cluster.None, maxFound), "name a cluster that answers with kubernetes.kubeconfig and kubernetes.context, or KUBECONFIG")
		return
	}
	found := fmt.Sprintf("kubernetes %s at %s", word(strings.TrimPrefix(f.Version, "v")), word(f.Address))
	if f.Account != "" {
		found += ", as " + word(f.Account)
	}
	switch {
	case older(f.Version, oldestCluster):
		e.add(id, Fail, found, fmt.Sprintf("pods are restricted by what Kubernetes has from 1.%d on: upgrade the cluster", oldestCluster))
	case f.Took > 2*time.Second:
		e.add(id, Warn, fmt.Sprintf("%s, and it takes %s to answer", found, f.Took.Round(100*time.Millisecond)), "look at the API server's load: each call asks it several times")
	default:
		e.ok(id, "%s", found)
	}
}

// oldestCluster is the second number of the oldest version in which pod security is a part of every cluster.
const oldestCluster = 25

// older compares with 1.minor. A version that nobody can read is not older.
func older(version string, minor int) bool {
	var major, has int
	if n, _ := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &has); n != 2 {
		return false
	}
	return major < 1 || major == 1 && has < minor
}

// nodes: is there one that takes cells, and is its runner built in?
func (e *exam) nodes() {
	const id = "nodes"
	if e.noCluster(id) {
		return
	}
	f := e.facts.Cluster.Facts
	if f.NodesFailed != "" {
		e.add(id, Fail, clean(f.NodesFailed, maxFound), "cells are not made without: let this account get and list nodes")
		return
	}
	var usable int
	kinds, foreign := map[string]int{}, map[string]bool{}
	for _, n := range f.Nodes {
		if !n.Ready || n.Closed {
			continue
		}
		usable++
		kinds[fmt.Sprintf("%s, %s, kernel %s", word(n.Arch), word(n.Runtime), word(n.Kernel))]++
		if !slices.Contains(e.facts.Settings.Runners, n.Arch) {
			foreign[n.Arch] = true
		}
	}
	found := fmt.Sprintf("%d of %d take cells", usable, len(f.Nodes))
	var what []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		what = append(what, fmt.Sprintf("%d × %s", kinds[kind], kind))
	}
	if len(what) > 0 {
		found += ": " + few(what)
	}
	switch {
	case usable == 0:
		e.add(id, Fail, found, "look at 'kubectl get nodes': cells go to nodes that are ready, neither cordoned nor tainted")
	case len(foreign) > 0:
		e.add(id, Warn, found+"; no runner is built in for "+word(strings.Join(slices.Sorted(maps.Keys(foreign)), ", ")), "cells go to the architecture that most nodes have: build hotcell with 'make build', which makes runners for amd64 and arm64")
	case usable < len(f.Nodes):
		e.add(id, OK, found, "the others are not ready, cordoned, tainted or not Linux")
	default:
		e.ok(id, "%s", found)
	}
}

func (e *exam) namespace() {
	const id = "namespace"
	if e.noCluster(id) {
		return
	}
	f := e.facts.Cluster.Facts
	if !f.NoNamespace && f.PodSecurity.Failed != "" && f.PodSecurity.Label == "" {
		e.skip(id, "nobody says whether %s is there", word(f.Namespace))
		return
	}
	e.either(id, !f.NoNamespace, word(f.Namespace)+" is there", "there is no namespace "+word(f.Namespace), Fail,
		"make it ('kubectl apply -k deploy/kubernetes/cells', or 'kubectl create namespace'), or name another in kubernetes.namespace")
}

// podSecurity: what does the namespace take that is no cell? It was tried.
func (e *exam) podSecurity() {
	const id = "pod-security"
	if e.noNamespace(id) {
		return
	}
	p := e.facts.Cluster.Facts.PodSecurity
	hint := "kubectl label namespace " + word(e.facts.Cluster.Facts.Namespace) + " pod-security.kubernetes.io/enforce=restricted"
	label := "; its label says " + word(p.Label)
	if p.Label == "" {
		label = ""
	}
	switch {
	case p.Failed != "":
		e.skip(id, "%s", clean(p.Failed, maxFound))
	case p.Level == "restricted":
		e.ok(id, "the namespace takes restricted pods alone, as was tried%s", label)
	case p.Level == "baseline":
		e.add(id, Warn, "the namespace takes pods that are not restricted, as was tried, and no privileged ones"+label, hint)
	default:
		e.add(id, Warn, "the namespace takes any pod, a privileged one too, as was tried"+label+": whoever has this account's token has the nodes", hint)
	}
}

// rights: may hotcell do what it does?
func (e *exam) rights() {
	const id = "rights"
	if e.noCluster(id) {
		return
	}
	f := e.facts.Cluster.Facts
	if f.RightsFailed != "" {
		e.skip(id, "%s", clean(f.RightsFailed, maxFound))
		return
	}
	missing := verbs(f.Needed, func(r sandbox.ClusterRight) bool { return !r.Allowed && !r.Optional })
	without := verbs(f.Needed, func(r sandbox.ClusterRight) bool { return !r.Allowed && r.Optional })
	const hint = "docs/kubernetes.md has the list, deploy/kubernetes/cells/rbac.yaml the role"
	switch {
	case len(missing) > 0:
		e.add(id, Fail, "may not "+strings.Join(missing, ", "), hint)
	case len(without) > 0:
		e.ok(id, "has all that hotcell needs in %s; does without: %s", word(f.Namespace), strings.Join(without, ", "))
	default:
		e.ok(id, "has all that hotcell does in %s", word(f.Namespace))
	}
}

// verbs are some rights, each thing once with all its verbs: "create, get pods/attach (to speak with cells)".
func verbs(all []sandbox.ClusterRight, meant func(sandbox.ClusterRight) bool) (out []string) {
	list, why := map[string][]string{}, map[string]string{}
	var things []string
	for _, r := range all {
		verb, thing, _ := strings.Cut(r.What, " ")
		if !meant(r) {
			continue
		}
		if list[thing] == nil {
			things = append(things, thing)
		}
		list[thing], why[thing] = append(list[thing], word(verb)), r.For
	}
	for _, thing := range things {
		out = append(out, strings.Join(list[thing], ", ")+" "+word(thing)+" ("+word(why[thing])+")")
	}
	return out
}

// leastRights: what else could be done with hotcell's account?
func (e *exam) leastRights() {
	const id = "least-rights"
	if e.noCluster(id) {
		return
	}
	f := e.facts.Cluster.Facts
	if f.RightsFailed != "" {
		e.skip(id, "%s", clean(f.RightsFailed, maxFound))
		return
	}
	more := verbs(f.Excess, func(r sandbox.ClusterRight) bool { return r.Allowed })
	if len(f.Excess) > 0 && f.Excess[0].Allowed { // it has all others in it
		more = []string{"do " + word(f.Excess[0].For)}
	}
	e.either(id, len(more) == 0, fmt.Sprintf("none of %d that it should not have, such as secrets, exec and other namespaces", len(f.Excess)),
		"this account may "+strings.Join(more, ", "), Warn, "whoever takes its token has that, too: give hotcell an account of its own, as deploy/kubernetes does")
}

// quota: what is left for cells?
func (e *exam) quota() {
	const id = "quota"
	if e.noNamespace(id) {
		return
	}
	q := e.facts.Cluster.Facts.Quota
	if q.Failed != "" {
		e.skip(id, "%s", clean(q.Failed, maxFound))
		return
	}
	rooms, what, bounds := e.quotaRoom(q.Rows)
	if rooms < 0 {
		e.add(id, Warn, "no ResourceQuota bounds what cells take together", "deploy/kubernetes/cells/bounds.yaml has one")
		return
	}
	found := fmt.Sprintf("room for %d cells of a default skill more: %s", rooms, strings.Join(bounds, ", "))
	switch {
	case rooms == 0:
		e.add(id, Fail, found, "calls end with 'namespace is full' until cells go: raise "+word(what)+" in its ResourceQuota")
	case rooms < int64(e.facts.Settings.MaxCells):
		e.add(id, Warn, found, fmt.Sprintf("sandbox.max_cells is %d: raise %s in its ResourceQuota", e.facts.Settings.MaxCells, word(what)))
	default:
		e.ok(id, "%s", found)
	}
}

// tenants: does each have a namespace that keeps its cells within bounds? There is nothing to say where there are none.
func (e *exam) tenants() {
	const id = "tenants"
	f := e.facts.Cluster.Facts
	if f == nil || len(f.Tenants) == 0 {
		return
	}
	var faults, fine []string
	for _, t := range f.Tenants {
		switch {
		case t.Fault != "":
			faults = append(faults, clean(t.Fault, maxFound))
		case t.Tenant != "":
			fine = append(fine, word(t.Tenant)+" in "+word(t.Namespace))
		}
	}
	e.either(id, len(faults) == 0, "each in a namespace with bounds: "+few(fine), strings.Join(faults, "; "), Fail,
		"hotcell serve does not start, and these tenants' calls fail: 'kubectl apply -k deploy/kubernetes/tenant' makes a namespace as it has to be")
}

// quotaRoom is for how many cells there is room, -1 where nothing bounds them; what bounds them most; and all that does, of requests
// and limits the tighter one.
func (e *exam) quotaRoom(rows []sandbox.QuotaRow) (rooms int64, what string, bounds []string) {
	rooms = -1
	least, text := map[string]int64{}, map[string]string{}
	for _, row := range rows {
		name, size := cellResource(row.Resource), e.cellTakes(row.Resource)
		if size == 0 {
			continue
		}
		n := max(0, row.Hard-row.Used) / size
		if before, ok := least[name]; !ok || n < before {
			least[name], text[name] = n, word(name)+" "+word(row.Text)
		}
		if rooms < 0 || n < rooms {
			rooms, what = n, row.Resource
		}
	}
	for _, name := range slices.Sorted(maps.Keys(text)) {
		bounds = append(bounds, text[name])
	}
	return rooms, what, bounds
}

// cellResource is a resource, whether it is requested or limited: for cells both are the same.
func cellResource(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "requests."), "limits.")
}

// cellTakes is how much of a resource the cell of a skill takes that says nothing, 0 for what cells do not take.
func (e *exam) cellTakes(resource string) int64 {
	switch cellResource(resource) {
	case "pods", "count/pods":
		return 1
	case "memory":
		return e.facts.Settings.DefaultMemory
	case "cpu":
		return int64(policies.DefaultCPU)
	case "ephemeral-storage":
		return sandbox.PodDisk
	}
	return 0
}
