package faults

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// What happens to a whole cluster. One after the other, and nothing beside it.
func TestFaultsOfTheCluster(t *testing.T) {
	testutil.Require(t, "kubernetes")
	testutil.Require(t, "kube-fault")
	d := serve(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"cordoned", d.cordoned},
		{"tainted", d.tainted},
		{"preempted", d.preempted},
		{"the kubelet halts for a moment", func(t *testing.T) { d.halts(t, "kubelet") }},
		{"the API server halts for a moment", func(t *testing.T) { d.halts(t, "kube-apiserver") }},
		{"the kubelet is killed", d.kubeletKilled},
		{"the API server is killed", d.serverKilled},
		{"the node is lost", d.nodeLost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.test(t)
			isWell(t)
			d.works(t)
			d.leavesNothing(t)
		})
	}
}

// nodes are the names of all.
func nodes(t *testing.T) []string {
	t.Helper()
	return strings.Fields(strings.ReplaceAll(testutil.Kubectl(t, "", "get", "nodes", "-o", "name"), "node/", ""))
}

// isWell waits until the cluster answers and its nodes are ready.
func isWell(t *testing.T) {
	t.Helper()
	testutil.Poll(t, 2*time.Minute, func() bool {
		if exec.Command("kubectl", "get", "--raw", "/readyz", "--request-timeout=5s").Run() != nil {
			return false
		}
		out, err := exec.Command("kubectl", "get", "nodes", "--request-timeout=5s", "-o", `jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {.spec.taints}{"\n"}{end}`).Output()
		return err == nil && strings.TrimSpace(strings.ReplaceAll(string(out), "True", "")) == ""
	})
}

// cordoned: what runs goes on, and nothing new finds a place.
func (d *daemon) cordoned(t *testing.T) {
	f := d.begin(t, 10, 60)
	all := nodes(t)
	testutil.Kubectl(t, "", append([]string{"cordon"}, all...)...)
	defer testutil.Kubectl(t, "", append([]string{"uncordon"}, all...)...)
	d.fails(t, "sandbox_crash/unschedulable", "no node of the cluster takes it", "unschedulable")
	f.ends(t, "ok")
}

// tainted: what a taint takes off its node was evicted.
func (d *daemon) tainted(t *testing.T) {
	f := d.begin(t, 60, 120)
	node := d.node(t, d.pod(t))
	testutil.Kubectl(t, "", "taint", "node", node, "hotcell-test=1:NoExecute")
	defer testutil.Kubectl(t, "", "taint", "node", node, "hotcell-test-")
	f.ends(t, "sandbox_crash/evicted", "was taken off its node")
}

// preempted: a pod of a higher priority needs the room that the cell has.
func (d *daemon) preempted(t *testing.T) {
	name := "hotcell-faults-" + strings.ToLower(rand.Text()[:8])
	testutil.Kubectl(t, "", "create", "priorityclass", name, "--value=1000")
	defer testutil.Kubectl(t, "", "delete", "priorityclass", name)
	f := d.begin(t, 60, 120)
	pod := d.pod(t)
	node := d.node(t, pod)
	free, cell := room(t, node, pod)
	defer testutil.Kubectl(t, "", "delete", "pod", "important", "-n", d.namespace, "--ignore-not-found", "--grace-period=0", "--force")
	testutil.Kubectl(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "important", "namespace": %q}, "spec": {
		"priorityClassName": %q, "nodeSelector": {"kubernetes.io/hostname": %q}, "automountServiceAccountToken": false,
		"containers": [{"name": "x", "image": "hotcell-test/none:1", "imagePullPolicy": "Never", "resources": {"requests": {"cpu": "%dm"}}}]}}`,
		d.namespace, name, node, free+cell/2), "create", "-f", "-")
	f.ends(t, "sandbox_crash/preempted", "was preempted by one of a higher priority")
}

// room is how many thousandths of a processor are left on a node, and how many a pod on it has.
func room(t *testing.T, node, pod string) (free, own int) {
	t.Helper()
	var all struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct {
				Containers []struct {
					Resources struct{ Requests map[string]string }
				}
			}
		}
	}
	text := testutil.Kubectl(t, "", "get", "pods", "-A", "-o", "json", "--field-selector", "spec.nodeName="+node+",status.phase!=Succeeded,status.phase!=Failed")
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	free = milli(t, testutil.Kubectl(t, "", "get", "node", node, "-o", "jsonpath={.status.allocatable.cpu}"))
	for _, p := range all.Items {
		for _, c := range p.Spec.Containers {
			n := milli(t, c.Resources.Requests["cpu"])
			if free -= n; p.Metadata.Name == pod {
				own += n
			}
		}
	}
	return free, own
}

// milli reads a number of processors.
func milli(t *testing.T, text string) int {
	t.Helper()
	if text == "" {
		return 0
	}
	if m, ok := strings.CutSuffix(text, "m"); ok {
		n, err := strconv.Atoi(m)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(1000 * n)
}

// halts: a call lives on when a program of the cluster does nothing for some seconds.
func (d *daemon) halts(t *testing.T, program string) {
	f := d.begin(t, 4, 60)
	thaw := testutil.KubeFault(t, "freeze", program, d.node(t, d.pod(t)))
	time.Sleep(8 * time.Second) // the skill ends meanwhile, and cannot say so
	thaw()
	f.ends(t, "ok")
	if took := time.Since(f.began); took < 8*time.Second {
		t.Errorf("it took %v: the fault had no effect", took)
	}
}

// kubeletKilled: with the kubelet goes the connection to the cell.
func (d *daemon) kubeletKilled(t *testing.T) {
	f := d.begin(t, 60, 120)
	again := testutil.KubeFault(t, "kill", "kubelet", d.node(t, d.pod(t)))
	f.ends(t, "sandbox_crash/engine_unavailable", "the connection to it broke off")
	again()
}

// serverKilled: with the API server go the connections to all cells, and there are no new ones.
func (d *daemon) serverKilled(t *testing.T) {
	f := d.begin(t, 60, 120)
	killed := time.Now()
	again := testutil.KubeFault(t, "kill", "kube-apiserver", "")
	f.ends(t, "sandbox_crash/engine_unavailable", "does not answer")
	t.Logf("answered %v after the API server was killed", time.Since(killed).Round(time.Millisecond))
	began := time.Now()
	d.fails(t, "sandbox_crash/engine_unavailable")
	t.Logf("a call without an API server is answered after %v", time.Since(began).Round(time.Millisecond))
	again()
}

// nodeLost: a node that does not answer any more. What runs on it is lost, what was about to is too, and then it gets nothing.
func (d *daemon) nodeLost(t *testing.T) {
	runs := d.begin(t, 200, 280)
	thaw := testutil.KubeFault(t, "freeze", "kubelet", d.node(t, d.pod(t)))
	silent := time.Now()
	placed := d.launch(t, 0, 280)
	runs.ends(t, "sandbox_crash/node_lost", "its node", "does not answer")
	placed.ends(t, "sandbox_crash/node_lost", "its node", "does not answer")
	t.Logf("both were answered %v after the kubelet fell silent", time.Since(silent).Round(time.Second))
	if len(nodes(t)) == 1 {
		d.fails(t, "sandbox_crash/unschedulable", "no node of the cluster takes it")
	}
	thaw()
}
