package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// asIs says what a cell is while its call runs, in the words of what made it: `docker inspect`, or the bundle's config.json.
func asIs(ctx context.Context, r *rig.Rig, id string) (map[string]any, error) {
	text, err := r.Describe(ctx, id)
	if err != nil {
		return nil, err
	}
	var cell sandbox.Listed
	all, err := r.Cells.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if l.ID == id {
			cell = l
		}
	}
	own := regexp.MustCompile(`"(?:User": "|uid": ?)(\d+)`).FindStringSubmatch(string(text))
	if cell.Name == "" || own == nil {
		return nil, fmt.Errorf("cell %s is not listed, or says no user: %.300s", id, text)
	}
	plain := strings.NewReplacer(id, "ID", cell.Name, "NAME").Replace(string(text))
	plain = regexp.MustCompile(`\b`+own[1]+`\b`).ReplaceAllString(plain, "65599")
	var as []map[string]any
	if err := json.Unmarshal([]byte("["+strings.Trim(strings.TrimSpace(plain), "[]")+"]"), &as); err != nil || len(as) != 1 {
		return nil, fmt.Errorf("%d descriptions: %w", len(as), err)
	}
	return as[0], nil
}

// momentary are parts of what an engine says that are of one cell's life, and say nothing of what it may do.
func momentary(is map[string]any) {
	for _, key := range []string{"Created", "State", "GraphDriver", "Id", "Name", "LogPath", "HostnamePath", "HostsPath", "ResolvConfPath"} {
		delete(is, key)
	}
	if mounts, ok := is["Mounts"].([]any); ok { // in no order
		slices.SortFunc(mounts, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	if n, ok := is["NetworkSettings"].(map[string]any); ok {
		delete(n, "SandboxID")
		delete(n, "SandboxKey")
	}
	if c, ok := is["Config"].(map[string]any); ok {
		labels, _ := c["Labels"].(map[string]any)
		for _, key := range []string{sandbox.LabelCall, sandbox.LabelExpires, sandbox.LabelPool} {
			delete(labels, key)
		}
	}
}

// stays is a skill that says that it is up and ends when it is told to.
const stays = `import json, sys
request = sys.stdin.readline()
print(json.dumps({"type": "skill/event", "kind": "log", "data": {"message": "up"}}), flush=True)
import time
time.sleep(60)
`

// TestACellThatWaitedIsNoOther compares what an engine says of a leased cell with what it says of one made for the same
// call, for several policies.
func TestACellThatWaitedIsNoOther(t *testing.T) {
	if rig.Engineless() {
		testutil.Require(t, "root")
	}
	frames := "run: {frames: true, image: '" + rig.PythonImage + "', command: [python3, /skill/main.py]}\n"
	for name, tt := range map[string]struct {
		yaml, before string
		operator     policies.Policy
	}{
		"default":  {},
		"tight":    {yaml: "limits: {memory: 64Mi, cpu: '0.5', pids: 20, files: 64, workspace: 8Mi, out: 4Mi, output: 1Mi}\n"},
		"clamped":  {yaml: "limits: {memory: 512Mi}\n", operator: policies.Policy{Limits: policies.Limits{Memory: 96 * policies.Mi, PIDs: 40}}},
		"prestart": {yaml: "run: {prestart: true}\n"},
		"frames":   {yaml: frames, before: "print('{\"type\":\"cell/ready\",\"protocol\":1}', flush=True)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, rig.Options{
				Skills: rig.PythonSkill("stays", tt.yaml, tt.before+stays), Warm: warm.Options{Max: 1},
				Adjust: func(cfg *executor.Config) {
					runtime := cfg.Policy.Runtime
					cfg.Policy, cfg.Policy.Runtime = tt.operator, runtime
				},
			})
			cold, waited := describe(t, r)
			if waited {
				t.Fatal("the first call had a cell that waited")
			}
			awaitWaiting(t, r, "stays")
			leased, waited := describe(t, r)
			if !waited {
				t.Fatal("the second call had a cell of its own")
			}
			if diff := cmp.Diff(cold, leased); diff != "" || len(cold) < 3 {
				t.Errorf("a cell that was made for its call, and one that waited for it:\n%s", diff)
			}
		})
	}
}

// describe calls the skill and cancels it once its cell has been looked at.
func describe(t *testing.T, r *rig.Rig) (is map[string]any, waited bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := request("stays", 0)
	req.ID = a2e.NewID()
	var once sync.Once
	r.Call(ctx, a2e.Caller{Door: "test"}, req, a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error {
		once.Do(func() {
			defer cancel()
			call, _, err := r.Show(t.Context(), req.ID)
			if err == nil {
				is, err = asIs(t.Context(), r, call.Cell)
			}
			if err != nil {
				t.Error(err)
			}
			waited = r.Waited(call.Cell)
		})
		return nil
	}))
	if is == nil {
		t.Fatal("the cell was not looked at")
	}
	momentary(is)
	return is, waited
}
