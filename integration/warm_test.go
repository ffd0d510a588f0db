package integration

import (
	"encoding/json"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// awaitWaiting returns the cell that waits for a skill's call, once there is one.
func awaitWaiting(t *testing.T, r *rig.Rig, skill string) (id string) {
	t.Helper()
	testutil.Poll(t, time.Minute, func() bool {
		ids := r.Pool.Waiting(skill)
		if len(ids) > 0 {
			id = ids[0]
		}
		return len(ids) > 0
	})
	return id
}

// A call gets the cell that waited, which is destroyed with it like any other, and the next one takes its place.
func TestACallGetsACellThatWaited(t *testing.T) {
	r := newRig(t, rig.Options{
		Skills: rig.PythonSkill("says-hello", "", "print('{\"hello\": 1}')"),
		Warm:   warm.Options{Max: 1},
	})
	first := ask(t.Context(), r, request("says-hello", 0), nil)
	if first.answer.Error != nil {
		t.Fatal(first.answer.Error)
	}
	for range 3 {
		waiting := awaitWaiting(t, r, "says-hello")
		got := ask(t.Context(), r, request("says-hello", 0), nil)
		if got.answer.Error != nil {
			t.Fatal(got.answer.Error)
		}
		call, _, err := r.Show(t.Context(), got.answer.ID)
		if err != nil || call.Cell != waiting {
			t.Errorf("the call ran in %s and %s waited: %v", call.Cell, waiting, err)
		}
		if next := awaitWaiting(t, r, "says-hello"); next == call.Cell {
			t.Error("a cell waits again after its call")
		}
	}
}

// With prestart a skill has loaded what it needs before its call was made.
func TestPrestartLoadsAhead(t *testing.T) {
	const script = `import json, sys, time
loaded = time.time()
request = json.loads(sys.stdin.readline())
print(json.dumps({"type": "skill/result", "success": True, "data": {"loaded": loaded, "n": request["arguments"]["n"]}}))
`
	r := newRig(t, rig.Options{
		Skills: rig.PythonSkill("loads-ahead", "run: {prestart: true}\n", script),
		Warm:   warm.Options{Max: 1},
	})
	for n := range 3 {
		asked := time.Now()
		req := request("loads-ahead", 0)
		req.Arguments = map[string]any{"n": n}
		got := ask(t.Context(), r, req, nil)
		var data struct {
			Loaded float64 `json:"loaded"`
			N      int     `json:"n"`
		}
		b, _ := json.Marshal(got.answer.Data.Data)
		if err := json.Unmarshal(b, &data); err != nil || got.answer.Error != nil || data.N != n {
			t.Fatalf("%+v, %s, %v", got.answer.Error, b, err)
		}
		if before := data.Loaded < float64(asked.UnixNano())/1e9; before != (n > 0) {
			t.Errorf("call %d: loaded ahead: %t", n, before)
		}
		awaitWaiting(t, r, "loads-ahead")
	}
}

// Every end has the same verdict in a cell that waited as in one that was made for its call.
func TestEveryEndInAWaitingCell(t *testing.T) {
	all := fstest.MapFS{}
	for _, e := range endings() {
		all = rig.Merge(all, rig.PythonSkill(e.name, e.yaml, e.script))
	}
	r := newRig(t, rig.Options{Skills: all, Warm: warm.Options{Max: 100}})
	for _, e := range endings() {
		if e.name == "no-such-image" {
			continue // it has no cell
		}
		t.Run(e.name, func(t *testing.T) {
			for _, kind := range []string{"cold", "warm"} {
				got := ask(t.Context(), r, request(e.name, e.seconds), nil)
				if code, reason := got.code(); code != e.code || reason != e.reason {
					t.Errorf("%s: got %q, reason %q: %+v; want %q, %q", kind, code, reason, got.answer.Error, e.code, e.reason)
				}
				if kind == "cold" {
					awaitWaiting(t, r, e.name)
				}
			}
		})
	}
}
