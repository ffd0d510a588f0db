package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
)

// program prints one line and then one result; each contender runs it.
const program = `import sys
sys.stdin.readline()
print('{"type":"skill/event","kind":"status","data":{"message":"here"}}', flush=True)
print('{"type":"skill/result","success":true,"data":42}', flush=True)
`

// hotcell is the supervisor as a library, without a front door.
type hotcell struct{ rig *rig.Rig }

func newHotcell(runner string) (*hotcell, error) {
	r, err := rig.New(rig.Options{Runner: runner, Skills: rig.PythonSkill("bench", "limits: {pids: 64}\n", program), Instance: "bench", Remember: time.Minute})
	if err != nil {
		return nil, err
	}
	return &hotcell{r}, nil
}

// call is one cold call. Its cell is destroyed in the background, as in production, but before the next contender runs.
func (h *hotcell) call(ctx context.Context) (timing, error) {
	var t timing
	began := time.Now()
	answer := h.rig.Call(ctx, a2e.Caller{Door: "bench"}, &a2e.CallRequest{Name: "bench"},
		a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
			if t.first == 0 {
				t.first = time.Since(began)
			}
			return nil
		}))
	t.done = time.Since(began)
	if answer.Error != nil {
		return t, answer.Error
	}
	if err := h.settle(ctx); err != nil {
		return t, err
	}
	t.gone = time.Since(began)
	return t, nil
}

// settle waits until the last call's cell is gone.
func (h *hotcell) settle(ctx context.Context) error {
	for {
		listed, err := h.rig.Driver.List(ctx)
		if err != nil {
			return err
		}
		alive := 0
		for _, l := range listed {
			if l.Kind == "cell" && l.Labels["hotcell.instance"] == "bench" {
				alive++
			}
		}
		if alive == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (h *hotcell) close() {
	if err := h.rig.Close(time.Minute); err != nil {
		fmt.Println("bench:", err)
	}
}
