package compile_test

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/policies/compile"
	"github.com/hotcell/hotcell/sandbox"
)

const other = "0cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

func keyOf(t *testing.T, eff policies.Effective, w compile.Workload) string {
	t.Helper()
	w.UID = compile.MinUID
	key, err := compile.Key(mustCompile(t, eff, w))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Nothing that makes a cell weaker, or another one, may leave its key as it is; nothing else may change it.
func TestKey(t *testing.T) {
	eff, w := narrow(t, policies.Policy{}, policies.Policy{}, policies.Policy{}), workload()
	base := keyOf(t, eff, w)

	theirs := w
	theirs.CallID, theirs.Expires, theirs.Waits = "01ARZ3NDEKTSV4RRFFQ69G5FAW", w.Expires.Add(time.Hour), true
	if keyOf(t, eff, theirs) != base {
		t.Error("whose the cell is changes its key")
	}

	for name, change := range map[string]func(*policies.Effective, *compile.Workload){
		"memory":    func(e *policies.Effective, _ *compile.Workload) { e.Limits.Memory += 1 << 20 },
		"cpu":       func(e *policies.Effective, _ *compile.Workload) { e.Limits.CPU++ },
		"pids":      func(e *policies.Effective, _ *compile.Workload) { e.Limits.PIDs++ },
		"files":     func(e *policies.Effective, _ *compile.Workload) { e.Limits.Files++ },
		"workspace": func(e *policies.Effective, _ *compile.Workload) { e.Limits.Workspace += 1 << 20 },
		"out":       func(e *policies.Effective, _ *compile.Workload) { e.Limits.Out += 1 << 20 },
		"output":    func(e *policies.Effective, _ *compile.Workload) { e.Limits.Output += 1 << 20 },
		"runtime":   func(e *policies.Effective, _ *compile.Workload) { e.Runtime = "runsc" },
		"image":     func(_ *policies.Effective, w *compile.Workload) { w.Image.ID = "sha256:" + other },
		"image env": func(_ *policies.Effective, w *compile.Workload) { w.Image.Env = []string{"MODE=other"} },
		"bundle":    func(_ *policies.Effective, w *compile.Workload) { w.Bundle.Digest = other },
		"runner":    func(_ *policies.Effective, w *compile.Workload) { w.Runner.Digest = other },
		"command":   func(_ *policies.Effective, w *compile.Workload) { w.Command = []string{"other"} },
		"prestart":  func(_ *policies.Effective, w *compile.Workload) { w.Prestart = true },
		"frames":    func(_ *policies.Effective, w *compile.Workload) { w.Frames = true },
		"env":       func(_ *policies.Effective, w *compile.Workload) { w.Env = []string{"A=b"} },
		"token": func(_ *policies.Effective, w *compile.Workload) {
			w.Env = []string{wall.EnvToken + "=" + compile.AnyToken}
		},
		"engine": func(_ *policies.Effective, w *compile.Workload) {
			w.Engine = sandbox.Tree{Name: "engine", Digest: digest, FS: fstest.MapFS{}}
		},
		"other engine": func(_ *policies.Effective, w *compile.Workload) {
			w.Engine = sandbox.Tree{Name: "engine", Digest: other, FS: fstest.MapFS{}}
		},
		"port": func(_ *policies.Effective, w *compile.Workload) {
			w.Ports = []wall.Port{{Name: "egress", Number: 41001}}
		},
		"tenant": func(_ *policies.Effective, w *compile.Workload) { w.Tenant = "acme" },
		"skill":  func(_ *policies.Effective, w *compile.Workload) { w.Skill = "other" },
	} {
		e, o := eff, w
		change(&e, &o)
		if keyOf(t, e, o) == base {
			t.Errorf("%s does not change the key", name)
		}
	}

	own := w
	own.UID = compile.MinUID + 1
	spec := mustCompile(t, eff, own)
	if _, err := compile.Key(spec); err == nil {
		t.Error("a key with a user id in it")
	}
	tokened := w
	tokened.UID, tokened.Env = compile.MinUID, []string{wall.EnvToken + "=hc-0123"}
	if _, err := compile.Key(mustCompile(t, eff, tokened)); err == nil {
		t.Error("a key with a cell's token in it")
	}
	if spec.Labels[sandbox.LabelCall] != own.CallID || spec.Labels[sandbox.LabelPool] != "" {
		t.Errorf("labels %v", spec.Labels)
	}
}
