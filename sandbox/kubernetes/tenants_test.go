package kubernetes

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// tenants are two, acme and beta, beside all others.
type tenants struct {
	*real
	spaces map[string]string // by tenant; "": the rest's
}

// quotaOf bounds a namespace.
const quotaOf = `{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "bounds", "namespace": %q},
	"spec": {"hard": {"requests.cpu": "4", "limits.cpu": "4", "requests.memory": "4Gi", "limits.memory": "4Gi", "pods": %q}}}`

func newTenants(t *testing.T) *tenants {
	t.Helper()
	ts := &tenants{real: newReal(t), spaces: map[string]string{}}
	ts.spaces[""] = ts.namespace
	for _, tenant := range []string{"acme", "beta"} {
		name := "hotcell-test-" + tenant + "-" + strings.ToLower(rand.Text()[:8])
		ts.spaces[tenant] = name
		testutil.Kubectl(t, "", "create", "namespace", name)
		testutil.Kubectl(t, "", "label", "namespace", name, labelEnforce+"="+levelRestricted)
		t.Cleanup(func() { testutil.Kubectl(t, "", "delete", "namespace", name, "--wait=false", "--ignore-not-found") })
	}
	for _, name := range ts.spaces {
		ts.bound(t, name, "10")
	}
	return ts
}

// bound sets how many pods a namespace may have, and waits until that holds.
func (ts *tenants) bound(t *testing.T, namespace, pods string) {
	t.Helper()
	testutil.Kubectl(t, fmt.Sprintf(quotaOf, namespace, pods), "apply", "-f", "-")
	testutil.Poll(t, 30*time.Second, func() bool {
		return testutil.Kubectl(t, "", "-n", namespace, "get", "quota", "bounds", "-o", "jsonpath={.status.hard.pods}") == pods
	})
}

func (ts *tenants) options(tenants ...string) Options {
	o := ts.real.options()
	o.Timeouts.Schedule = 50 * time.Second // others may use the node
	o.Tenants = map[string]string{}
	for _, name := range tenants {
		o.Tenants[name] = ts.spaces[name]
	}
	return o
}

func (ts *tenants) spec(tenant, program string, args ...string) *sandbox.Spec {
	spec := ts.real.spec(program, args...)
	*spec.OCI.Linux.Resources.CPU.Quota = 5_000 // a node has room for several
	spec.Tenant = tenant
	return spec
}

// start starts the program "sleep" and waits until it runs.
func (ts *tenants) start(t *testing.T, d *Driver, spec *sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	return awake(t, started(t, d, spec))
}

// names are those of a kind of things in a namespace.
func names(t *testing.T, namespace, kind string, more ...string) []string {
	t.Helper()
	return strings.Fields(testutil.Kubectl(t, "", append([]string{"-n", namespace, "get", kind, "-o", "name"}, more...)...))
}

// TestTenants: the cells of two tenants, and those of the rest, are apart.
func TestTenants(t *testing.T) {
	ts := newTenants(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"Apart", ts.apart},
		{"OneIsFull", ts.oneIsFull},
		{"OneIsEmptied", ts.oneIsEmptied},
		{"LeastRights", ts.leastRights},
		{"Unfit", ts.unfit}, // last: it takes beta's namespace away
	} {
		t.Run(tt.name, tt.test)
	}
}

// apart: each has its pods, its trees, its owner and its closed network in its own namespace. All are listed and removed.
func (ts *tenants) apart(t *testing.T) {
	d := ts.driverOf(t, ts.options("acme", "beta"))
	if err := d.Check(bounded(t)); err != nil {
		t.Fatal(err)
	}
	tree := sandbox.Tree{Name: "test", Digest: strings.Repeat("d", 64), Target: "/skill", FS: fstest.MapFS{"a": {Data: []byte("text"), Mode: 0o644}}}
	ids := map[string]string{} // by cell's id the name
	for tenant, namespace := range ts.spaces {
		spec := ts.spec(tenant, "sleep")
		spec.Trees = []sandbox.Tree{tree}
		cell := ts.start(t, d, spec)
		ids[cell.ID()] = spec.Name
		if got := names(t, namespace, "pods"); !slices.Contains(got, "pod/"+spec.Name) {
			t.Errorf("tenant %q: its cell %s is not in %s, but %s", tenant, spec.Name, namespace, got)
		}
		for _, want := range []string{"configmap/" + d.ownerName(), "configmap/" + partName(treeName(tree), 0), "networkpolicy.networking.k8s.io/" + policyName} {
			kind, _, _ := strings.Cut(want, "/")
			if got := names(t, namespace, kind); !slices.Contains(got, want) {
				t.Errorf("tenant %q: %s is not in %s, but %s", tenant, want, namespace, got)
			}
		}
	}
	others := map[string]bool{} // trees and owners
	all, err := d.List(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		switch {
		case l.Kind != kindCell:
			others[l.Kind+" "+l.ID] = true
		case ids[l.ID] != l.Name:
			t.Errorf("cell %q is listed as %+v", ids[l.ID], l)
		}
		if err := d.Remove(bounded(t), l.ID); err != nil {
			t.Error(err)
		}
		delete(ids, l.ID)
	}
	if len(ids) > 0 || len(others) != 6 {
		t.Errorf("not listed: %v; listed beside cells: %v", slices.Collect(maps.Values(ids)), others)
	}
	for _, namespace := range ts.spaces {
		if left := append(names(t, namespace, "pods"), names(t, namespace, "configmaps", "-l", sandbox.LabelManaged+"=1")...); len(left) > 0 {
			t.Errorf("left in %s: %s", namespace, left)
		}
	}
	_, err = d.Create(bounded(t), ts.spec("gamma", "sleep"))
	if !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), `tenant "gamma": has no namespace: expected one in kubernetes.tenants`) {
		t.Errorf("a tenant without a namespace: %v", err)
	}
}

// oneIsFull: a tenant whose quota is used up has the reason, and nobody else notices.
func (ts *tenants) oneIsFull(t *testing.T) {
	ts.bound(t, ts.spaces["acme"], "1")
	defer ts.bound(t, ts.spaces["acme"], "10")
	d := ts.driverOf(t, ts.options("acme", "beta"))
	full := ts.start(t, d, ts.spec("acme", "sleep"))
	for range 3 {
		_, err := d.Create(bounded(t), ts.spec("acme", "sleep"))
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "namespace "+ts.spaces["acme"]+" is full") {
			t.Errorf("acme's second cell: %v", err)
		}
	}
	for _, other := range []string{"beta", ""} {
		if out := ts.output(t, d, ts.spec(other, "print", "hello")); out != "hello\n" {
			t.Errorf("tenant %q: %q", other, out)
		}
	}
	if err := full.Destroy(bounded(t)); err != nil {
		t.Fatal(err)
	}
	testutil.Poll(t, 30*time.Second, func() bool { // a quota is counted a moment later
		cell, err := d.Create(bounded(t), ts.spec("acme", "sleep"))
		return err == nil && cell.Destroy(bounded(t)) == nil
	})
}

// oneIsEmptied: who deletes a supervisor's owner in one namespace deletes its cells there, and its next cell has one again.
func (ts *tenants) oneIsEmptied(t *testing.T) {
	o := ts.options("acme", "beta")
	o.Instance = "emptied"
	d := ts.driverOf(t, o)
	acme, beta := ts.start(t, d, ts.spec("acme", "sleep")), ts.start(t, d, ts.spec("beta", "sleep"))
	testutil.Kubectl(t, "", "-n", ts.spaces["acme"], "delete", "configmap", d.ownerName())
	loses(t, acme, went(sandbox.LossDeleted), "was deleted from the cluster")
	select {
	case <-beta.(*cell).exited:
		t.Errorf("beta's cell is gone, too: %v", beta.(*cell).exitErr)
	default:
	}
	ts.start(t, d, ts.spec("acme", "sleep"))
}

// tenantRights are those that docs/kubernetes.md lists for each namespace where tenants are kept apart.
const tenantRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: supervisor-tenants, namespace: SPACE}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [create, get, list, watch, delete]}
  - {apiGroups: [""], resources: [pods/attach], verbs: [create, get]}
  - {apiGroups: [""], resources: [configmaps], verbs: [create, get, list, delete]}
  - {apiGroups: [""], resources: [events], verbs: [list]}
  - {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [create, get]}
  - {apiGroups: [""], resources: [namespaces], verbs: [get]}
  - {apiGroups: [""], resources: [resourcequotas], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: supervisor-tenants, namespace: SPACE}
subjects: [{kind: ServiceAccount, name: supervisor, namespace: NAMESPACE}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: supervisor-tenants}
`

// leastRights: the rights of the documentation in each of the namespaces suffice, and where they are missing that is said.
func (ts *tenants) leastRights(t *testing.T) {
	testutil.Kubectl(t, strings.ReplaceAll(rights, "NAMESPACE", ts.namespace), "apply", "-f", "-")
	defer testutil.Kubectl(t, "", "delete", "clusterrole,clusterrolebinding", ts.namespace)
	bind := func(tenant string) {
		testutil.Kubectl(t, strings.NewReplacer("NAMESPACE", ts.namespace, "SPACE", ts.spaces[tenant]).Replace(tenantRights), "apply", "-f", "-")
	}
	bind("")
	bind("acme")
	o := ts.options("acme", "beta")
	o.Instance = "least-rights"
	o.tune = ts.as(t, "supervisor")
	d := ts.driverOf(t, o)
	if err := d.Check(bounded(t)); !errors.Is(err, sandbox.ErrUnsupported) || strings.Contains(err.Error(), "acme") || !strings.Contains(err.Error(), "(kubernetes.tenants.beta.namespace): is not there, or is one in which hotcell has no rights") {
		t.Errorf("without rights in beta's namespace: %v", err)
	}
	if out := ts.output(t, d, ts.spec("acme", "print", "hello")); out != "hello\n" {
		t.Errorf("acme: %q", out)
	}
	if all, err := d.List(bounded(t)); err != nil {
		t.Errorf("what is left behind elsewhere is not found: %v, %v", all, err)
	}
	if _, err := d.Create(bounded(t), ts.spec("beta", "sleep")); !errors.Is(err, sandbox.ErrUnsupported) {
		t.Errorf("beta: %v", err)
	}
	bind("beta")
	if err := d.Check(bounded(t)); err != nil {
		t.Error(err)
	}
	if out := ts.output(t, d, ts.spec("beta", "print", "hello")); out != "hello\n" {
		t.Errorf("beta: %q", out)
	}
}

// unfit: a namespace that bounds nothing is refused by all that is wrong with it, at the start and by the first cell.
func (ts *tenants) unfit(t *testing.T) {
	beta := ts.spaces["beta"]
	unfit := func(what string) {
		t.Helper()
		d := ts.driverOf(t, ts.options("acme", "beta"))
		_, err := d.Create(bounded(t), ts.spec("beta", "sleep"))
		for how, err := range map[string]error{"check": d.Check(bounded(t)), "create": err} {
			if !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), "namespace "+beta+" (kubernetes.tenants.beta.namespace): ") || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v, expected %q in it", how, err, what)
			}
		}
		f, err := d.InspectCluster(bounded(t))
		if err != nil || len(f.Tenants) != 3 || f.Tenants[0].Fault+f.Tenants[1].Fault != "" || f.Tenants[2].Tenant != "beta" || !strings.HasSuffix(f.Tenants[2].Fault, "as it has to be") || !strings.Contains(f.Tenants[2].Fault, what) {
			t.Errorf("what is said of the tenants: %+v, %v", f.Tenants, err)
		}
		if out := ts.output(t, d, ts.spec("acme", "print", "hello")); out != "hello\n" {
			t.Errorf("acme, meanwhile: %q", out)
		}
	}
	testutil.Kubectl(t, "", "label", "namespace", beta, labelEnforce+"=baseline", "--overwrite")
	unfit(`its label pod-security.kubernetes.io/enforce is "baseline", expected restricted`)
	testutil.Kubectl(t, "", "label", "namespace", beta, labelEnforce+"=restricted", "--overwrite")
	testutil.Kubectl(t, "", "-n", beta, "delete", "quota", "bounds")
	unfit("no ResourceQuota bounds memory and cpu there")
	testutil.Kubectl(t, "", "-n", beta, "create", "quota", "pods", "--hard=pods=3,limits.cpu=2")
	unfit("no ResourceQuota bounds memory there")
	testutil.Kubectl(t, "", "delete", "namespace", beta)
	unfit("is not there: deploy/kubernetes/tenant makes one")
	alone := ts.driverOf(t, ts.options()) // no tenants: what the namespace of all has is its operator's business
	if err := alone.Check(bounded(t)); err != nil {
		t.Error(err)
	}
}

func TestUnbounded(t *testing.T) {
	one := func(scopes []corev1.ResourceQuotaScope, names ...corev1.ResourceName) corev1.ResourceQuota {
		hard := corev1.ResourceList{}
		for _, n := range names {
			hard[n] = resource.MustParse("1")
		}
		return corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: hard, Scopes: scopes}}
	}
	class := one(nil, "cpu", "memory")
	class.Spec.ScopeSelector = &corev1.ScopeSelector{}
	for name, tt := range map[string]struct {
		quotas []corev1.ResourceQuota
		want   string
	}{
		"none":               {nil, "memory cpu"},
		"both":               {[]corev1.ResourceQuota{one(nil, "cpu", "memory")}, ""},
		"limits, requests":   {[]corev1.ResourceQuota{one(nil, "limits.cpu"), one(nil, "requests.memory")}, ""},
		"pods alone":         {[]corev1.ResourceQuota{one(nil, "pods", "limits.memory")}, "cpu"},
		"of those that end":  {[]corev1.ResourceQuota{one([]corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}, "cpu", "memory")}, "memory cpu"},
		"of a class":         {[]corev1.ResourceQuota{class}, "memory cpu"},
		"of those with both": {[]corev1.ResourceQuota{one([]corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotBestEffort}, "cpu", "memory")}, ""},
	} {
		if got := strings.Join(unbounded(tt.quotas), " "); got != tt.want {
			t.Errorf("%s: %q, expected %q", name, got, tt.want)
		}
	}
}
