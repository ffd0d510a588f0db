package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// TestInspection runs what is asked of a real cluster, and runtime classes, in one namespace.
func TestInspection(t *testing.T) {
	r := newReal(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"Administrator", r.inspectAsAdministrator},
		{"LeastRights", r.inspectWithLeastRights},
		{"PodSecurity", r.inspectPodSecurity},
		{"Quota", r.inspectQuota},
		{"DenyAll", r.inspectDenyAll},
		{"TryNetwork", r.tryNetwork},
		{"TryNetworkCancelled", r.tryNetworkCancelled},
		{"RuntimeClass", r.runtimeClass},
		{"RuntimeClassWithoutHandler", r.classWithoutHandler},
	} {
		t.Run(tt.name, tt.test)
	}
}

func (r *real) inspect(t *testing.T, o Options) sandbox.ClusterFacts {
	t.Helper()
	f, err := r.driverOf(t, o).InspectCluster(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func allowed(all []sandbox.ClusterRight) (names []string) {
	for _, r := range all {
		if r.Allowed {
			names = append(names, r.What)
		}
	}
	return names
}

func (r *real) inspectAsAdministrator(t *testing.T) {
	f := r.inspect(t, r.options())
	if !strings.HasPrefix(f.Version, "v1.") || f.Took <= 0 || f.Account == "" || f.RightsFailed+f.NodesFailed+f.ClassesFailed+f.Quota.Failed+f.PodSecurity.Failed != "" {
		t.Errorf("%+v", f)
	}
	if len(allowed(f.Needed)) != len(f.Needed) || len(allowed(f.Excess)) != len(f.Excess) {
		t.Errorf("an administrator lacks some of %+v %+v", f.Needed, f.Excess)
	}
	if len(f.Nodes) == 0 || f.Nodes[0].Kernel == "" || f.Nodes[0].Runtime == "" || f.Nodes[0].Arch == "" {
		t.Errorf("nodes: %+v", f.Nodes)
	}
}

// as has a driver use a token and nothing else.
func as(o Options, token string) Options {
	o.tune = func(c *rest.Config) {
		c.BearerToken = token
		c.TLSClientConfig.CertData, c.TLSClientConfig.KeyData, c.TLSClientConfig.CertFile, c.TLSClientConfig.KeyFile = nil, nil, "", ""
	}
	return o
}

// With the rights of the documentation nothing is missing, and nothing is too much; without any all is.
func (r *real) inspectWithLeastRights(t *testing.T) {
	testutil.Kubectl(t, strings.ReplaceAll(rights, "NAMESPACE", r.namespace), "apply", "-f", "-")
	defer testutil.Kubectl(t, "", "delete", "clusterrole,clusterrolebinding", r.namespace)
	o := as(r.options(), strings.TrimSpace(testutil.Kubectl(t, "", "-n", r.namespace, "create", "token", "supervisor")))
	f := r.inspect(t, o)
	for _, n := range f.Needed {
		if !n.Allowed && !n.Optional {
			t.Errorf("the documented rights lack %s", n.What)
		}
	}
	if more := allowed(f.Excess); len(more) > 0 || !strings.HasSuffix(f.Account, ":supervisor") {
		t.Errorf("%s may %q", f.Account, more)
	}
	if f.PodSecurity.Level != levelRestricted || f.PodSecurity.Label != "" || !strings.Contains(f.Quota.Failed, "resourcequotas") || strings.Contains(f.Quota.Failed, sandbox.ErrUnavailable.Error()) {
		t.Errorf("%+v, %+v", f.PodSecurity, f.Quota)
	}
	r.classNobodyMayList(t, o)
	testutil.Kubectl(t, "", "-n", r.namespace, "create", "serviceaccount", "nobody")
	f = r.inspect(t, as(r.options(), strings.TrimSpace(testutil.Kubectl(t, "", "-n", r.namespace, "create", "token", "nobody"))))
	if has := allowed(f.Needed); len(has) > 0 || f.NodesFailed == "" || f.PodSecurity.Failed == "" || f.NoNamespace {
		t.Errorf("%q, %+v", has, f)
	}
}

// classNobodyMayList: who may not list classes has the cluster's own refusal.
func (r *real) classNobodyMayList(t *testing.T, o Options) {
	spec := r.spec("sleep")
	spec.Runtime = "hotcell-no-such-class"
	o.Accept = Controls()
	fails(t, r.driverOf(t, o), spec, sandbox.ErrUnsupported, `runtime class "hotcell-no-such-class"`, "not found")
}

// The cluster is tried, whatever labels say.
func (r *real) inspectPodSecurity(t *testing.T) {
	label := func(value string) {
		testutil.Kubectl(t, "", "label", "--overwrite", "namespace", r.namespace, labelEnforce+value)
	}
	defer label("=restricted")
	for value, want := range map[string]string{"=restricted": levelRestricted, "=baseline": levelBaseline, "=privileged": levelPrivileged, "-": levelPrivileged} {
		label(value)
		testutil.Poll(t, 30*time.Second, func() bool { // the API server hears of its own change
			f := r.inspect(t, r.options())
			return f.PodSecurity.Level == want && f.PodSecurity.Failed == "" && f.PodSecurity.Label == strings.Trim(value, "=-")
		})
	}
	if pods := testutil.Kubectl(t, "", "-n", r.namespace, "get", "pods", "-o", "name"); strings.Contains(pods, "hotcell-never") {
		t.Errorf("a pod was made: %s", pods)
	}
	o := r.options()
	o.Namespace = "hotcell-no-such-namespace"
	if f := r.inspect(t, o); !f.NoNamespace {
		t.Errorf("%+v", f.PodSecurity)
	}
}

func (r *real) inspectQuota(t *testing.T) {
	testutil.Kubectl(t, "", "-n", r.namespace, "create", "quota", "wide", "--hard=pods=100,limits.cpu=4")
	testutil.Kubectl(t, "", "-n", r.namespace, "create", "quota", "tight", "--hard=pods=7,requests.memory=1Gi")
	testutil.Kubectl(t, "", "-n", r.namespace, "create", "quota", "other", "--hard=pods=1", "--scopes=Terminating")
	defer testutil.Kubectl(t, "", "-n", r.namespace, "delete", "quota", "wide", "tight", "other")
	testutil.Poll(t, 30*time.Second, func() bool {
		rows := r.inspect(t, r.options()).Quota.Rows
		return slices.Equal(rows, []sandbox.QuotaRow{
			{Resource: "limits.cpu", Hard: 4000, Text: "0 of 4"}, {Resource: "pods", Hard: 7, Text: "0 of 7"}, {Resource: "requests.memory", Hard: 1 << 30, Text: "0 of 1Gi"},
		})
	})
}

func (r *real) inspectDenyAll(t *testing.T) {
	testutil.Kubectl(t, "", "-n", r.namespace, "delete", "networkpolicy", policyName, "--ignore-not-found")
	if f := r.inspect(t, r.options()); f.DenyAll != "none" {
		t.Errorf("%q", f.DenyAll)
	}
	d := r.driver(t)
	if err := d.prepare(bounded(t)); err != nil {
		t.Fatal(err)
	}
	if f := r.inspect(t, r.options()); f.DenyAll != "there" {
		t.Errorf("%q", f.DenyAll)
	}
	testutil.Kubectl(t, "", "-n", r.namespace, "patch", "networkpolicy", policyName, "--type=merge", "-p", `{"spec":{"egress":[{}]}}`)
	defer testutil.Kubectl(t, "", "-n", r.namespace, "delete", "networkpolicy", policyName)
	if f := r.inspect(t, r.options()); f.DenyAll != "open" {
		t.Errorf("%q", f.DenyAll)
	}
	fails(t, r.driver(t), r.spec("sleep"), sandbox.ErrUnavailable, "NetworkPolicy "+policyName+" in namespace "+r.namespace+" lets something through")
}

// emptySpec is a cell whose image is empty, for which the runner's stands in.
func (r *real) emptySpec() (*sandbox.Spec, error) {
	spec := r.spec("sleep")
	spec.Image = sandbox.Image{ID: "sha256:empty", Ref: "empty"}
	return spec, nil
}

// What cells reach is told of each target, and they are gone.
func (r *real) tryNetwork(t *testing.T) {
	o := r.options()
	o.Empty, o.Instance = []string{"sha256:empty"}, "try-network"
	d := r.driverOf(t, o)
	try, err := d.TryNetwork(bounded(t), r.emptySpec)
	if err != nil || !try.Came || try.Node == "" || try.Left != "" || len(try.Targets) < 4 {
		t.Fatalf("%+v, %v", try, err)
	}
	for _, target := range try.Targets {
		if target.Tries == 0 || target.Open != (target.Got == target.Tries) || target.Open == (target.Why != "") {
			t.Errorf("%+v", target)
		}
		if target.Open != try.Targets[0].Open {
			t.Logf("not all are alike here: %+v", target)
		}
	}
	r.nothingLeft(t, d)
	if err := d.Leave(bounded(t)); err != nil {
		t.Error(err)
	}
	if left := testutil.Kubectl(t, "", "-n", r.namespace, "get", "configmaps", "-o", "name"); strings.Contains(left, d.ownerName()) {
		t.Errorf("its owner is left: %s", left)
	}
}

func (r *real) nothingLeft(t *testing.T, d *Driver) {
	t.Helper()
	testutil.Poll(t, time.Minute, func() bool {
		all, err := d.List(bounded(t))
		return err == nil && !slices.ContainsFunc(all, func(l sandbox.Listed) bool {
			return l.Kind == kindCell && l.Labels[sandbox.LabelInstance] == d.instance
		})
	})
}

// Who stops to wait leaves nothing behind, at whatever moment.
func (r *real) tryNetworkCancelled(t *testing.T) {
	o := r.options()
	o.Empty, o.Instance = []string{"sha256:empty"}, "try-cancelled"
	d := r.driverOf(t, o)
	for _, after := range []time.Duration{300 * time.Millisecond, 3 * time.Second} {
		ctx, cancel := context.WithTimeout(bounded(t), after)
		if try, err := d.TryNetwork(ctx, r.emptySpec); err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("%+v, %v", try, err)
		}
		cancel()
		r.nothingLeft(t, d)
	}
}

// class makes a RuntimeClass.
func class(t *testing.T, handler string) string {
	t.Helper()
	name := "hotcell-test-" + strings.ToLower(rand.Text()[:10])
	testutil.Kubectl(t, `{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"`+name+`"},"handler":"`+handler+`"}`, "create", "-f", "-")
	t.Cleanup(func() { testutil.Kubectl(t, "", "delete", "runtimeclass", name) })
	return name
}

// A runtime class arrives in the pod, needs its own word, and is refused where the cluster does not have it.
func (r *real) runtimeClass(t *testing.T) {
	o := r.options()
	plain := r.driverOf(t, o)
	if _, err := plain.Capabilities(bounded(t)); err != nil { // what it knows now is older than the class
		t.Fatal(err)
	}
	name := class(t, "runc")
	spec := r.spec("read", "/proc/self/limits")
	spec.Runtime = name
	fails(t, plain, spec, sandbox.ErrUnsupported, "a pod cannot enforce pids (runtime class "+name+" may not heed", "sandbox.accept_unenforced: [pids]")
	spec.Runtime = "hotcell-no-such-class"
	fails(t, plain, spec, sandbox.ErrUnsupported, `runtime class "hotcell-no-such-class": the cluster at`, "has no such class")
	if caps, err := plain.Capabilities(bounded(t)); err != nil || !slices.Contains(caps.Runtimes, name) { // by which callers name those that there are
		t.Errorf("%+v, %v", caps, err)
	}

	o.Accept = append(slices.Clone(o.Accept), ControlPIDs)
	d := r.driverOf(t, o)
	spec.Runtime = name
	if out := r.output(t, d, spec); !strings.Contains(strings.Join(strings.Fields(out), " "), "Max processes 32 32") {
		t.Errorf("the gate's limit does not hold with a class:\n%s", out)
	}
	spec = r.spec("sleep")
	spec.Runtime = name
	cell, err := d.Create(bounded(t), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cell.Destroy(bounded(t)); err != nil {
			t.Error(err)
		}
	}()
	if got := testutil.Kubectl(t, "", "-n", r.namespace, "get", "pod", podOf(cell), "-o", "jsonpath={.spec.runtimeClassName}"); got != name {
		t.Errorf("the pod's class is %q, want %q", got, name)
	}
	if got := strings.Join(sandbox.Unenforced(cell), " "); got != "seccomp mounts network pids" {
		t.Errorf("unenforced: %s", got)
	}
	if caps, err := d.Capabilities(bounded(t)); err != nil || !slices.Contains(caps.Unenforced, ControlPIDs) {
		t.Errorf("%+v, %v", caps, err)
	}
}

// A class of whose handler the nodes know nothing is said to be so.
func (r *real) classWithoutHandler(t *testing.T) {
	o := r.options()
	o.Accept, o.Timeouts.Ready = Controls(), 15*time.Second
	spec := r.spec("sleep")
	spec.Runtime = class(t, "hotcell-no-such-handler")
	fails(t, r.driverOf(t, o), spec, sandbox.ErrUnavailable, "hotcell-no-such-handler")
}

// TestInspectSilence: a cluster that takes connections and says nothing is not waited for.
func TestInspectSilence(t *testing.T) {
	testutil.Require(t, "kubernetes")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := (&real{namespace: "none", runner: "runner"}).options()
	o.Timeouts.Request = time.Second
	o.tune = func(c *rest.Config) { c.Host = "https://" + l.Addr().String() }
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.InspectCluster(bounded(t)); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("inspect: %v", err)
	}
}

func TestCloses(t *testing.T) {
	policy := func(change func(*networkingv1.NetworkPolicySpec)) *networkingv1.NetworkPolicy {
		p := &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{"Ingress", "Egress"}}}
		change(&p.Spec)
		return p
	}
	for name, tt := range map[string]struct {
		change func(*networkingv1.NetworkPolicySpec)
		want   bool
	}{
		"of all pods": {func(*networkingv1.NetworkPolicySpec) {}, true},
		"of cells": {func(s *networkingv1.NetworkPolicySpec) {
			s.PodSelector.MatchLabels = map[string]string{sandbox.LabelKind: kindCell}
		}, true},
		"of others": {func(s *networkingv1.NetworkPolicySpec) { s.PodSelector.MatchLabels = map[string]string{"app": "x"} }, false},
		"by expression": {func(s *networkingv1.NetworkPolicySpec) {
			s.PodSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Exists"}}
		}, false},
		"ingress alone": {func(s *networkingv1.NetworkPolicySpec) { s.PolicyTypes = s.PolicyTypes[:1] }, false},
		"a way in":      {func(s *networkingv1.NetworkPolicySpec) { s.Ingress = []networkingv1.NetworkPolicyIngressRule{{}} }, false},
		"a way out":     {func(s *networkingv1.NetworkPolicySpec) { s.Egress = []networkingv1.NetworkPolicyEgressRule{{}} }, false},
	} {
		if got := closes(policy(tt.change)); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
