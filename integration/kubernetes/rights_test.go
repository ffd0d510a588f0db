package kubernetes

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The cluster says what the supervisor's service account may do: that is the list of testdata/rights, and not one verb more.
func TestRightsAreTheLeast(t *testing.T) {
	in := install(t)
	th := in.steal(t)
	golden, err := os.ReadFile("testdata/rights")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, where := range []struct{ name, namespace string }{
		{"hotcell-cells", in.cells}, {"hotcell-acme", in.tenant}, {"hotcell-system", in.system}, {"default", "default"}, {"kube-system", "kube-system"},
	} {
		fmt.Fprintf(&got, "in %s\n", where.name)
		for _, right := range rights(t, th, where.namespace) {
			fmt.Fprintf(&got, "  %s\n", right)
		}
	}
	if got.String() != string(golden) {
		t.Errorf("the service account may do\n%s\nexpected, as testdata/rights has it,\n%s", &got, golden)
	}
}

// rights asks the cluster what the owner of a token may do in a namespace.
func rights(t *testing.T, th thief, namespace string) []string {
	t.Helper()
	review := fmt.Sprintf(`{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": %q}}`, namespace)
	said, done := th.try(review, "create", "--validate=false", "-f", "-", "-o", "json")
	if !done {
		t.Fatalf("the cluster does not say what the token may do: %s", said)
	}
	var answer struct {
		Status struct {
			Incomplete    bool
			ResourceRules []struct{ APIGroups, Resources, ResourceNames, Verbs []string }
		}
	}
	if err := json.Unmarshal([]byte(said), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Status.Incomplete {
		t.Fatal("the cluster does not know all that the token may do")
	}
	var all []string
	for _, r := range answer.Status.ResourceRules {
		for _, resource := range r.Resources {
			slices.Sort(r.Verbs)
			right := strings.Trim(strings.Join(r.APIGroups, ",")+"/"+resource, "/")
			if len(r.ResourceNames) > 0 {
				right += " named " + strings.Join(r.ResourceNames, ",")
			}
			all = append(all, right+": "+strings.Join(r.Verbs, " "))
		}
	}
	slices.Sort(all)
	return all
}

const harmless = `"allowPrivilegeEscalation": false`

// pod is a pod as those of cells are, but for what is put in: after its spec's {, and after its container's securityContext's.
func pod(namespace, spec, security string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try", "namespace": %q}, "spec": {%s
		"automountServiceAccountToken": false, "securityContext": {"runAsNonRoot": true, "runAsUser": 1073741824, "seccompProfile": {"type": "RuntimeDefault"}},
		"containers": [{"name": "cell", "image": "hotcell-test/none:1", "imagePullPolicy": "Never",
			"resources": {"limits": {"cpu": "100m", "memory": "64Mi", "ephemeral-storage": "64Mi"}},
			"securityContext": {%s, "capabilities": {"drop": ["ALL"]}}}]}}`, namespace, spec, security)
}

// Whoever has the token of a supervisor makes cells of a kind that is harmless, and does nothing else.
func TestAStolenTokenIsOfLittleUse(t *testing.T) {
	in := install(t)
	th := in.steal(t)
	for _, args := range [][]string{{"get", "pods", "-n", in.cells}, {"create", "--validate=false", "--dry-run=server", "-f", "-"}} {
		if said, done := th.try(pod(in.cells, "", harmless), args...); !done {
			t.Fatalf("%v: the token is of no use at all, and nothing that follows says anything: %s", args, said)
		}
	}
	const make = "create --validate=false --dry-run=server -f -"
	policy := fmt.Sprintf(`{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "open", "namespace": %q}, "spec": {"podSelector": {}, "egress": [{}], "policyTypes": ["Egress"]}}`, in.cells)
	binding := fmt.Sprintf(`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "more", "namespace": %q},
		"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}, "subjects": [{"kind": "ServiceAccount", "name": "hotcell", "namespace": %q}]}`, in.cells, in.system)
	for _, one := range []struct{ what, stdin, args, why string }{
		{"read secrets of others", "", "get secrets -n default", "forbidden"},
		{"read the cluster's secrets", "", "get secrets -n kube-system", "forbidden"},
		{"read secrets everywhere", "", "get secrets -A", "forbidden"},
		{"read its own namespace's secrets", "", "get secrets -n " + in.system, "forbidden"},
		{"read the cells' secrets", "", "get secrets -n " + in.cells, "forbidden"},
		{"read others' ConfigMaps", "", "get configmaps -n default", "forbidden"},
		{"see others' pods", "", "get pods -A", "forbidden"},
		{"make a pod elsewhere", pod("default", "", harmless), make, "forbidden"},
		{"make a pod beside itself", pod(in.system, "", harmless), make, "forbidden"},
		{"read a tenant's secrets", "", "get secrets -n " + in.tenant, "forbidden"},
		{"see which namespaces there are", "", "get namespaces", "forbidden"},
		{"look at a namespace of others", "", "get namespace kube-system", "forbidden"},
		{"make a namespace", `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "more"}}`, make, "forbidden"},
		{"make a privileged pod of a tenant's", pod(in.tenant, "", `"privileged": true, "allowPrivilegeEscalation": true`), make, "violates PodSecurity"},
		{"take away what bounds a tenant", "", "delete resourcequota " + in.cells + " --dry-run=server -n " + in.tenant, "forbidden"},
		{"give a tenant more", "", "patch resourcequota " + in.cells + " --dry-run=server --type=merge -p {} -n " + in.tenant, "forbidden"},
		{"take away a tenant's label that forbids", "", "label namespace " + in.tenant + " pod-security.kubernetes.io/enforce-", "forbidden"},
		{"make a privileged pod", pod(in.cells, "", `"privileged": true, "allowPrivilegeEscalation": true`), make, "violates PodSecurity"},
		{"make a pod of root's", pod(in.cells, "", `"runAsUser": 0, `+harmless), make, "violates PodSecurity"},
		{"make a pod with a folder of the host", pod(in.cells, `"volumes": [{"name": "h", "hostPath": {"path": "/"}}],`, harmless), make, "violates PodSecurity"},
		{"make a pod in the host's network", pod(in.cells, `"hostNetwork": true,`, harmless), make, "violates PodSecurity"},
		{"make a pod among the host's processes", pod(in.cells, `"hostPID": true,`, harmless), make, "violates PodSecurity"},
		{"open the cells' network", policy, make, "forbidden"},
		{"take away what closes it", "", "delete networkpolicy hotcell-deny-all --dry-run=server -n " + in.cells, "forbidden"},
		{"take away what bounds cells", "", "delete resourcequota hotcell-cells --dry-run=server -n " + in.cells, "forbidden"},
		{"give itself more rights", binding, make, "forbidden"},
		{"make itself another's token", "", "create token default -n kube-system", "forbidden"},
		{"exec into a pod elsewhere", "{}", "create --raw /api/v1/namespaces/kube-system/pods/x/exec?command=id -f -", "orbidden"},
		{"attach to a pod elsewhere", "{}", "create --raw /api/v1/namespaces/" + in.system + "/pods/x/attach?stdin=1 -f -", "orbidden"},
		{"exec into a cell", "{}", "create --raw /api/v1/namespaces/" + in.cells + "/pods/x/exec?command=id -f -", "orbidden"},
		{"speak to a node's kubelet", "", "get --raw /api/v1/nodes/x/proxy/pods", "orbidden"},
		{"take away the label that forbids", "", "label namespace " + in.cells + " pod-security.kubernetes.io/enforce-", "forbidden"},
	} {
		if said, done := th.try(one.stdin, strings.Fields(one.args)...); done || !strings.Contains(said, one.why) {
			t.Errorf("%s: done: %v, expected that it is refused as %q:\n%s", one.what, done, one.why, said)
		}
	}
}
