package kubernetes

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// patience is longer than any healthy step takes, on a cluster that others use too.
const patience = 5 * time.Minute

// bounded is a context that no healthy step comes near.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// went is a target of errors.Is: what became of a cell.
type went sandbox.Loss

func (w went) Error() string { return "lost: " + string(w) }

// is reports whether an error is of a kind.
func is(err, kind error) bool {
	var lost *sandbox.LostError
	if w, ok := kind.(went); ok {
		return errors.As(err, &lost) && lost.Loss == sandbox.Loss(w) && errors.Is(err, sandbox.ErrUnavailable)
	}
	return errors.Is(err, kind) && !errors.As(err, &lost)
}

// fails expects Create to fail with an error of a kind that says something.
func fails(t *testing.T, d *Driver, spec *sandbox.Spec, kind error, words ...string) {
	t.Helper()
	cell, err := d.Create(bounded(t), spec)
	if cell != nil || !is(err, kind) {
		t.Fatalf("create: %v, want %v", err, kind)
	}
	if errors.Is(kind, sandbox.ErrUnavailable) && !sandbox.IsUnmade(err) {
		t.Errorf("create: %v: the driver knows that nothing is there, and does not say so", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("create: %q, want %q in it", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error of several lines: %q", err)
	}
	all, lerr := d.List(bounded(t))
	if lerr != nil {
		t.Fatal(lerr)
	}
	for _, l := range all {
		if l.Name == spec.Name {
			t.Errorf("something was left behind: %+v", l)
		}
	}
}

func (r *real) noImage(t *testing.T) {
	d := r.driver(t)
	spec := r.spec("sleep")
	spec.Image.Ref = "hotcell-test/absent:1"
	fails(t, d, spec, sandbox.ErrNotFound, "hotcell-test/absent:1")
	spec = r.spec("sleep")
	spec.Image.Ref = "Not An Image"
	fails(t, d, spec, sandbox.ErrNotFound, "InvalidImageName")
	spec = r.spec("sleep")
	spec.Image.ID = "sha256:" + strings.Repeat("0", 64)
	fails(t, d, spec, sandbox.ErrNotFound, "has another image under the name")
}

func (r *real) unplaced(t *testing.T) {
	o := r.options()
	o.Timeouts.Schedule = 3 * time.Second
	d := r.driverOf(t, o)
	spec := r.spec("sleep")
	*spec.OCI.Linux.Resources.Memory.Limit, *spec.OCI.Linux.Resources.Memory.Swap = 1<<45, 1<<45
	fails(t, d, spec, went(sandbox.LossUnschedulable), "no node of the cluster takes it", "Insufficient memory")
}

func (r *real) quota(t *testing.T) {
	testutil.Kubectl(t, "", "-n", r.namespace, "create", "quota", "full", "--hard=pods=0")
	defer testutil.Kubectl(t, "", "-n", r.namespace, "delete", "quota", "full")
	d := r.driver(t)
	testutil.Poll(t, 30*time.Second, func() bool { // a quota is in force once it has been counted
		return strings.Contains(testutil.Kubectl(t, "", "-n", r.namespace, "get", "quota", "full", "-o", "jsonpath={.status.hard.pods}"), "0")
	})
	fails(t, d, r.spec("sleep"), went(sandbox.LossQuota), "namespace "+r.namespace+" is full", "exceeded quota")
}

// begin starts the program "sleep" and waits until it runs.
func (r *real) begin(t *testing.T, d *Driver) sandbox.Sandbox {
	t.Helper()
	return awake(t, started(t, d, r.spec("sleep")))
}

// started makes a cell, starts it, and destroys it in the end.
func started(t *testing.T, d *Driver, spec *sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	cell, err := d.Create(bounded(t), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cell.Destroy(bounded(t)); err != nil {
			t.Error(err)
		}
	})
	if err := cell.Start(bounded(t)); err != nil {
		t.Fatal(err)
	}
	return cell
}

// awake waits until the program "sleep" runs.
func awake(t *testing.T, cell sandbox.Sandbox) sandbox.Sandbox {
	t.Helper()
	if _, err := io.ReadFull(cell.Stdio().Stdout, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	return cell
}

func podOf(cell sandbox.Sandbox) string {
	name, _, _ := strings.Cut(cell.ID(), "/")
	return name
}

// loses expects a running cell to be lost in a way, with an error that says something, and its streams to end, not before that is
// known.
func loses(t *testing.T, cell sandbox.Sandbox, kind error, words string) {
	t.Helper()
	_, err := cell.Wait(bounded(t))
	if !is(err, kind) || !strings.Contains(err.Error(), words) {
		t.Errorf("wait: %v, want %v and %q in it", err, kind, words)
	}
	if _, err := io.Copy(io.Discard, cell.Stdio().Stdout); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("stdout ended with %v", err)
	}
}

func (r *real) deletedByHand(t *testing.T) {
	d := r.driver(t)
	cell := r.begin(t, d)
	testutil.Kubectl(t, "", "-n", r.namespace, "delete", "pod", podOf(cell), "--wait=false")
	loses(t, cell, went(sandbox.LossDeleted), "was deleted from the cluster")
}

func (r *real) evicted(t *testing.T) {
	d := r.driver(t)
	cell := r.begin(t, d)
	testutil.Kubectl(t, `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"`+podOf(cell)+`","namespace":"`+r.namespace+`"}}`,
		"create", "--raw", "/api/v1/namespaces/"+r.namespace+"/pods/"+podOf(cell)+"/eviction", "-f", "-")
	loses(t, cell, went(sandbox.LossEvicted), "was evicted")
}

// tooMuchDisk: a kubelet evicts what takes too much of its disk.
func (r *real) tooMuchDisk(t *testing.T) {
	o := r.options()
	o.disk = 24 << 20 // its runner counts, too
	d := r.driverOf(t, o)
	cell := started(t, d, r.spec("cat"))
	var said sync.WaitGroup
	said.Go(func() { // and leaves its stdin open
		_, _ = io.CopyN(cell.Stdio().Stdin, zeros{}, 32<<20)
	})
	if _, err := io.CopyN(io.Discard, cell.Stdio().Stdout, 32<<20); err != nil {
		t.Fatal(err)
	}
	said.Wait()
	loses(t, cell, went(sandbox.LossDisk), "was evicted")
}

// zeros are without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// deletedAtBirth: a pod that goes before its program has begun has its true reason, too.
func (r *real) deletedAtBirth(t *testing.T) {
	d := r.driver(t)
	cell, err := d.Create(bounded(t), r.spec("sleep"))
	if err != nil {
		t.Fatal(err)
	}
	testutil.Kubectl(t, "", "-n", r.namespace, "delete", "pod", podOf(cell), "--wait=false")
	if err := cell.Start(bounded(t)); !is(err, went(sandbox.LossDeleted)) {
		t.Errorf("start: %v", err)
	}
	if err := cell.Destroy(bounded(t)); err != nil {
		t.Error(err)
	}
}

// ownerGone: who deletes a supervisor's ConfigMap deletes its cells.
func (r *real) ownerGone(t *testing.T) {
	o := r.options()
	o.Instance = "owner-" + strings.ToLower(t.Name()[:4])
	d := r.driverOf(t, o)
	cell := r.begin(t, d)
	testutil.Kubectl(t, "", "-n", r.namespace, "delete", "configmap", d.ownerName())
	loses(t, cell, went(sandbox.LossDeleted), "was deleted from the cluster")
	r.begin(t, d) // the next cell has an owner again
}

// rights are those that docs/kubernetes.md lists.
const rights = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: supervisor, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: supervisor, namespace: NAMESPACE}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [create, get, list, watch, delete]}
  - {apiGroups: [""], resources: [pods/attach], verbs: [create, get]}
  - {apiGroups: [""], resources: [configmaps], verbs: [create, get, list, delete]}
  - {apiGroups: [""], resources: [events], verbs: [list]}
  - {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [create, get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: supervisor, namespace: NAMESPACE}
subjects: [{kind: ServiceAccount, name: supervisor, namespace: NAMESPACE}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: supervisor}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAMESPACE}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAMESPACE}
subjects: [{kind: ServiceAccount, name: supervisor, namespace: NAMESPACE}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAMESPACE}
`

// leastRights: a supervisor with the rights of the documentation and no others makes, lists and removes.
func (r *real) leastRights(t *testing.T) {
	testutil.Kubectl(t, strings.ReplaceAll(rights, "NAMESPACE", r.namespace), "apply", "-f", "-")
	defer testutil.Kubectl(t, "", "delete", "clusterrole,clusterrolebinding", r.namespace)
	o := r.options()
	o.Instance = "least-rights"
	o.tune = r.as(t, "supervisor")
	d := r.driverOf(t, o)
	if _, err := d.Capabilities(bounded(t)); err != nil {
		t.Fatal(err)
	}
	spec := r.spec("read", "/skill/a")
	spec.Trees = []sandbox.Tree{{Name: "test", Digest: strings.Repeat("c", 64), Target: "/skill", FS: fstest.MapFS{"a": {Data: []byte("text"), Mode: 0o644}}}}
	if out := r.output(t, d, spec); out != "text" {
		t.Errorf("%q", out)
	}
	cell := r.begin(t, d)
	if err := cell.Kill(bounded(t)); err != nil {
		t.Error(err)
	}
	all, err := d.List(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.Labels[sandbox.LabelDigest] == strings.Repeat("c", 64) || l.ID == cell.ID() {
			if err := d.Remove(bounded(t), l.ID); err != nil {
				t.Error(err)
			}
		}
	}
}

// as has a driver be a service account of the namespace, and nobody else.
func (r *real) as(t *testing.T, account string) func(*rest.Config) {
	token := strings.TrimSpace(testutil.Kubectl(t, "", "-n", r.namespace, "create", "token", account))
	return func(c *rest.Config) {
		c.BearerToken = token
		c.TLSClientConfig.CertData, c.TLSClientConfig.KeyData, c.TLSClientConfig.CertFile, c.TLSClientConfig.KeyFile = nil, nil, "", ""
	}
}

// otherRunner: a runner image without the trees of this hotcell, and one that is not there.
func (r *real) otherRunner(t *testing.T) {
	d := r.driver(t)
	spec := r.spec("sleep")
	spec.Trees = []sandbox.Tree{{Name: "engine", Digest: strings.Repeat("a", 64), Target: "/hotcell-engine"}}
	fails(t, d, spec, sandbox.ErrUnavailable, "it is of another hotcell")
	o := r.options()
	o.RunnerImage = "hotcell-test/no-runner:1"
	other := r.driverOf(t, o)
	fails(t, other, r.spec("sleep"), sandbox.ErrUnavailable, "kubernetes.runner_image", "hotcell-test/no-runner:1")
}

func (r *real) limits(t *testing.T) {
	d := r.driver(t)
	out := r.output(t, d, r.spec("read", "/proc/self/limits"))
	for _, want := range []string{"Max core file size 0 0", "Max open files 256 256", "Max processes 32 32", "Max file size 8392704 8392704"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("%q is not among the limits:\n%s", want, out)
		}
	}
}

// output runs a program to its end.
func (r *real) output(t *testing.T, d *Driver, spec *sandbox.Spec) string {
	t.Helper()
	cell, err := d.Create(bounded(t), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cell.Destroy(bounded(t)); err != nil {
			t.Error(err)
		}
	}()
	if err := cell.Start(bounded(t)); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(cell.Stdio().Stdout)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestNoCluster: what cannot be reached is said to be so, at once.
func TestNoCluster(t *testing.T) {
	testutil.Require(t, "kubernetes")
	o := (&real{namespace: "none", runner: "runner"}).options()
	o.tune = func(c *rest.Config) { c.Host = "https://127.0.0.1:1" }
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Ping(bounded(t)); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("ping: %v", err)
	}
	if _, err := d.Capabilities(bounded(t)); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("capabilities: %v", err)
	}
}

// TestNoNamespace: the error says what to do.
func TestNoNamespace(t *testing.T) {
	testutil.Require(t, "kubernetes")
	r := &real{namespace: "hotcell-no-such-namespace", runner: "runner", image: sandbox.Image{ID: "sha256:1", Ref: "x"}}
	d := r.driver(t)
	spec := r.spec("sleep")
	_, err := d.Create(bounded(t), spec)
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "kubernetes.namespace") {
		t.Errorf("create: %v", err)
	}
}

func TestRefusesWhatIsNotAccepted(t *testing.T) {
	r := &real{namespace: "none", runner: "runner", image: sandbox.Image{ID: "sha256:1", Ref: "x"}}
	_, err := convert(r.spec("sleep"), settings{image: "runner", uid: FirstUID})
	if !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), "sandbox.accept_unenforced: [seccomp, mounts, network]") {
		t.Errorf("convert: %v", err)
	}
	o := r.options()
	o.Accept = []string{"everything"}
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "expected some of seccomp, network, paths, mounts, pids") {
		t.Errorf("new: %v", err)
	}
}
