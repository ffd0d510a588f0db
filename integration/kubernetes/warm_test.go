package kubernetes

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/kubernetes"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// pooled is a supervisor whose cells are pods, some of which wait.
type pooled struct {
	*rig.Rig
	namespace string
	end       func()

	mu     sync.Mutex
	leased []string // cells that waited
}

const (
	few = `limits: {memory: 64Mi, cpu: "0.1"}` + "\n"

	greeting = "import json, sys\nsys.stdin.readline()\nprint(json.dumps({'type': 'skill/result', 'success': True, 'data': {'hello': 'pod'}}))\n"
)

// endings are skills that end in different ways.
func endings() fstest.MapFS {
	return rig.Merge(
		rig.PythonSkill("greets", few, greeting),
		rig.PythonSkill("has-more", strings.Replace(few, "64Mi", "96Mi", 1), greeting),
		rig.PythonSkill("exits-with-3", few, "import sys\nsys.exit(3)\n"),
		rig.PythonSkill("says-it-failed", few, `print('{"type":"skill/result","success":false,"error":"no such ticket","error_code":"E42"}')`),
		rig.PythonSkill("eats-memory", few, "b = []\nwhile True: b.append(bytearray(1 << 20))\n"),
	)
}

func newPooled(t *testing.T) *pooled {
	t.Helper()
	for _, part := range []string{"kubernetes", "docker", "image-python"} {
		testutil.Require(t, part)
	}
	mark := strings.ToLower(rand.Text()[:8])
	p := &pooled{namespace: "hotcell-warm-" + mark}
	runner := filepath.Join("../../cmd/hotcell/embed", "hotcell-runner-"+runtime.GOARCH)
	ref := "docker.io/hotcell-test/runner:" + mark
	loadRunner(t, runner, ref)
	python := filepath.Join(t.TempDir(), "python.tar")
	if out, err := exec.Command("docker", "save", "-o", python, rig.PythonImage).CombinedOutput(); err != nil {
		t.Fatalf("docker save: %v\n%s", err, out)
	}
	testutil.KubeLoad(t, python)
	testutil.Kubectl(t, "", "create", "namespace", p.namespace)
	t.Cleanup(func() { testutil.Kubectl(t, "", "delete", "namespace", p.namespace, "--wait=false") })
	testutil.Kubectl(t, "", "label", "namespace", p.namespace, "pod-security.kubernetes.io/enforce=restricted")
	var err error
	p.Rig, err = rig.New(rig.Options{
		Runner: runner, Skills: endings(), Instance: "warm" + mark, Remember: time.Minute,
		Warm: warm.Options{Max: 6, Idle: time.Hour, MaxAge: time.Hour},
		Make: func(cfg *executor.Config) (func() error, error) {
			driver, err := kubernetes.New(kubernetes.Options{
				Namespace: p.namespace, RunnerImage: ref, Instance: "warm" + mark, NeverPull: true,
				Accept: []string{kubernetes.ControlSeccomp, kubernetes.ControlNetwork, kubernetes.ControlPaths, kubernetes.ControlMounts},
			})
			if err != nil {
				return nil, err
			}
			cfg.Driver = driver
			return driver.Close, nil
		},
		Leased: func(box sandbox.Sandbox) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.leased = append(p.leased, box.ID())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.end = sync.OnceFunc(func() {
		if err := p.Close(2 * time.Minute); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(p.end)
	return p
}

func loadRunner(t *testing.T, runner, ref string) {
	t.Helper()
	tree, err := rig.RunnerTree(runner)
	if err != nil {
		t.Fatal(err)
	}
	img, err := rig.RunnerImage(tree, ref)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "runner.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := img.Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	testutil.KubeLoad(t, path)
}

// call returns a call's answer, its cell, and whether that had waited. Where the node is full of others' pods it is made again.
func (p *pooled) call(t *testing.T, skill string) (answer *a2e.CallResponse, cell string, waited bool) {
	t.Helper()
	testutil.Poll(t, 4*time.Minute, func() bool {
		answer = p.Call(t.Context(), a2e.Caller{Door: "test"}, &a2e.CallRequest{Name: skill}, a2e.EventWriterFunc(func(context.Context, *a2e.Event) error { return nil }))
		return answer.Error == nil || !strings.Contains(answer.Error.Message, "no node of the cluster takes it")
	})
	call, _, err := p.Show(t.Context(), answer.ID)
	if err != nil {
		t.Fatal(err)
	}
	return answer, call.Cell, p.Waited(call.Cell)
}

// waits returns the cell that waits for a skill, once there is one that is not another.
func (p *pooled) waits(t *testing.T, skill, but string) (id string) {
	t.Helper()
	testutil.Poll(t, 2*time.Minute, func() bool {
		for _, id = range p.Pool.Waiting(skill) {
			if id != but {
				return true
			}
		}
		return false
	})
	return id
}

// there reports whether a cell's pod is.
func (p *pooled) there(t *testing.T, id string) bool {
	t.Helper()
	name, uid, _ := strings.Cut(id, "/")
	return testutil.Kubectl(t, "", "-n", p.namespace, "get", "pod", name, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}") == uid
}

func (p *pooled) gone(t *testing.T, id string) {
	t.Helper()
	testutil.Poll(t, time.Minute, func() bool { return !p.there(t, id) })
}

// Pods that wait are leased to calls with the same policy, answer as pods do that are made for their call, serve one of them, and leave
// nothing behind.
func TestPodsThatWait(t *testing.T) {
	p := newPooled(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"the same verdicts", p.sameVerdicts},
		{"whose they are", p.owned},
		{"another policy", p.otherPolicy},
		{"deleted by hand", p.deletedByHand},
		{"drained", p.drained},
	} {
		t.Run(tt.name, tt.test)
	}
}

func (p *pooled) sameVerdicts(t *testing.T) {
	for _, skill := range []string{"greets", "exits-with-3", "says-it-failed", "eats-memory"} {
		cold, own, waited := p.call(t, skill)
		if own == "" {
			t.Fatalf("%s: it had no cell: %s", skill, verdict(t, cold))
		}
		if waited {
			t.Errorf("%s: the first call got a pod that waited", skill)
		}
		waiting := p.waits(t, skill, own)
		warm, cell, waited := p.call(t, skill)
		if !waited || cell != waiting {
			t.Errorf("%s: the call ran in %s, and %s waited", skill, cell, waiting)
		}
		if c, w := verdict(t, cold), verdict(t, warm); c != w {
			t.Errorf("%s: in a pod of its own\n%s\nin one that waited\n%s", skill, c, w)
		}
		p.gone(t, own)
		p.gone(t, cell)
		if next := p.waits(t, skill, ""); next == cell {
			t.Errorf("%s: a pod waits again after its call", skill)
		}
	}
}

// verdict is what an answer says, without whose it is and how long it took.
func verdict(t *testing.T, r *a2e.CallResponse) string {
	t.Helper()
	var said struct {
		Error *a2e.Error
		Data  any
	}
	if said.Error = r.Error; r.Error != nil {
		delete(r.Error.Detail, "call_id")
	}
	if r.Data != nil {
		said.Data = r.Data.Data
	}
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// owned: a pod that waits is collected with the object that stands for its supervisor, and says whose it is.
func (p *pooled) owned(t *testing.T) {
	name, _, _ := strings.Cut(p.waits(t, "greets", ""), "/")
	got := testutil.Kubectl(t, "", "-n", p.namespace, "get", "pod", name, "-o", "jsonpath={.metadata.ownerReferences[*].kind} {.metadata.ownerReferences[*].name} {.metadata.ownerReferences[*].uid}")
	fields := strings.Fields(got)
	if len(fields) != 3 || fields[0] != "ConfigMap" || !strings.HasPrefix(fields[1], "hotcell-instance-") {
		t.Fatalf("it is owned by %q", got)
	}
	uid := testutil.Kubectl(t, "", "-n", p.namespace, "get", "configmap", fields[1], "-o", "jsonpath={.metadata.uid}")
	if uid != fields[2] {
		t.Errorf("its owner is %s, and that of the name is %s", fields[2], uid)
	}
	if got := testutil.Kubectl(t, "", "-n", p.namespace, "get", "pod", name, "-o", `jsonpath={.metadata.labels.hotcell\.kind}`); got != "cell" {
		t.Errorf("it is labelled as %q", got)
	}
}

// otherPolicy: a call that may have more, of the same program in the same image, gets no pod that may have less.
func (p *pooled) otherPolicy(t *testing.T) {
	waiting := p.waits(t, "greets", "")
	answer, cell, waited := p.call(t, "has-more")
	if answer.Error != nil || waited || cell == waiting {
		t.Errorf("%+v; it ran in %s, waited: %t; %s waits for calls with another policy", answer.Error, cell, waited, waiting)
	}
}

// deletedByHand: a pod that somebody deletes while it waits is leased to nobody.
func (p *pooled) deletedByHand(t *testing.T) {
	waiting := p.waits(t, "greets", "")
	name, _, _ := strings.Cut(waiting, "/")
	testutil.Kubectl(t, "", "-n", p.namespace, "delete", "pod", name, "--wait=false")
	testutil.Poll(t, time.Minute, func() bool {
		for _, id := range p.Pool.Waiting("greets") {
			if id == waiting {
				return false
			}
		}
		return true
	})
	for range 2 {
		if answer, cell, _ := p.call(t, "greets"); answer.Error != nil || cell == waiting {
			t.Errorf("the next call ran in %s: %v", cell, answer.Error)
		}
	}
	p.gone(t, waiting)
}

// drained: what waits goes with its supervisor.
func (p *pooled) drained(t *testing.T) {
	waiting := p.waits(t, "greets", "")
	p.end()
	if p.there(t, waiting) {
		t.Errorf("%s waits for nobody", waiting)
	}
	if left := testutil.Kubectl(t, "", "-n", p.namespace, "get", "pods", "-o", "name"); strings.TrimSpace(left) != "" {
		t.Errorf("the supervisor has ended and left %s", left)
	}
}
