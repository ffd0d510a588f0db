package integration

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// restless is a skill that speaks for itself, says that it is ready, and then does not wait but look again and again.
const restless = `import json, select, sys
print('{"type":"cell/ready","protocol":1}', flush=True)
while not select.select([sys.stdin], [], [], 0)[0]: pass
sys.stdin.readline()
print(json.dumps({"type": "skill/result", "success": True, "data": 1}), flush=True)
sys.stdin.read()
`

// A cell that works while it waits is taken away, though it reports ready. Its calls go on with cells of their own.
func TestAWaitingCellThatWorksIsRetired(t *testing.T) {
	yaml := "run: {frames: true, image: '" + rig.PythonImage + "', command: [python3, /skill/main.py]}\n"
	r := newRig(t, rig.Options{
		Skills: rig.PythonSkill("restless", yaml, restless), Warm: warm.Options{Max: 1, CPU: 500 * time.Millisecond},
	})
	call := func() {
		t.Helper()
		if got := ask(t.Context(), r, request("restless", 20), nil); got.answer.Error != nil {
			t.Error(got.answer.Error)
		}
	}
	call()
	id := awaitWaiting(t, r, "restless")
	testutil.Poll(t, 30*time.Second, func() bool {
		all, err := r.Cells.List(t.Context())
		for _, l := range all {
			if l.ID == id {
				return false
			}
		}
		return err == nil
	})
	call()
}

// A cell that dies after its call got it, and before it took anything of the call, costs the call nothing.
func TestACallOutlivesTheCellThatWaited(t *testing.T) {
	var deaths atomic.Int64
	var r *rig.Rig
	r = newRig(t, rig.Options{
		Skills: rig.PythonSkill("hello", "", "print('{\"hello\": 1}')"), Warm: warm.Options{Max: 1},
		Leased: func(box sandbox.Sandbox) {
			if err := r.Shoot(t.Context(), box.ID()); err != nil {
				t.Error(err)
			}
			if _, err := box.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			deaths.Add(1)
		},
	})
	first := ask(t.Context(), r, request("hello", 0), nil)
	if first.answer.Error != nil {
		t.Fatal(first.answer.Error)
	}
	dead := awaitWaiting(t, r, "hello")
	got := ask(t.Context(), r, request("hello", 0), nil)
	call, _, err := r.Show(t.Context(), got.answer.ID)
	if err != nil || got.answer.Error != nil || deaths.Load() == 0 || call.Cell == dead || call.Cell == "" {
		t.Errorf("%v, %v: %d cells died, among them %s; the call ran in %s", got.answer.Error, err, deaths.Load(), dead, call.Cell)
	}
}

// stuffed is a skill that speaks for itself, fills its own stdin before it says that it is ready, and never reads it.
const stuffed = `import os, time
stdin = os.open('/proc/self/fd/0', os.O_WRONLY | os.O_NONBLOCK)
try:
    while True: os.write(stdin, bytes(4096))
except BlockingIOError: pass
print('{"type":"cell/ready","protocol":1}', flush=True)
time.sleep(3600)
`

// A cell that takes no request holds its call up no longer than its time allows, nor anything else: it is out of time, or cancelled.
func TestAWaitingCellThatTakesNothing(t *testing.T) {
	yaml := "run: {frames: true, image: '" + rig.PythonImage + "', command: [python3, /skill/main.py]}\n"
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("stuffed", yaml, stuffed), Warm: warm.Options{Max: 1}})
	for _, kind := range []string{"cold", "warm"} {
		if kind == "warm" {
			awaitWaiting(t, r, "stuffed")
		}
		began := time.Now()
		got := ask(t.Context(), r, request("stuffed", 2), nil)
		if code, _ := got.code(); code != a2e.Timeout || time.Since(began) > 40*time.Second {
			t.Errorf("%s: %q after %s", kind, code, time.Since(began))
		}
	}
}

// A cell that ends while it waits is taken away, though nobody waits for its end.
func TestAWaitingCellThatEnds(t *testing.T) {
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("hello", "", "print('{\"hello\": 1}')"), Warm: warm.Options{Max: 1}})
	if first := ask(t.Context(), r, request("hello", 0), nil); first.answer.Error != nil {
		t.Fatal(first.answer.Error)
	}
	id := awaitWaiting(t, r, "hello")
	if err := r.Shoot(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	testutil.Poll(t, 30*time.Second, func() bool { return !slices.Contains(r.Pool.Waiting("hello"), id) })
	if next := ask(t.Context(), r, request("hello", 0), nil); next.answer.Error != nil {
		t.Error(next.answer.Error)
	}
}
