package executor

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

func TestPulse(t *testing.T) {
	b := setUp(t, hang, func(c *Config) { c.MaxCells, c.MaxMemory, c.Policy.Runtime = 1, 1<<30, "runsc" })
	b.takeStock(t.Context(), true)
	p := b.Pulse(t.Context())
	if want := (control.Pulse{MaxCells: 1, Memory: 1 << 30, Driver: b.driver.Name(), Runtime: "runsc", Instances: 1}); p != want {
		t.Errorf("at first: %+v, want %+v", p, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for _, id := range []string{"r1", "r2"} {
		calls.Go(func() { b.ask(ctx, sent("patient", id)) })
	}
	testutil.Poll(t, 30*time.Second, func() bool {
		p = b.Pulse(t.Context())
		return p.Running == 1 && p.Queued == 1 && p.Cold == 1
	})
	if p.Reserved != 256<<20 || p.NotReady != "" {
		t.Errorf("with one call: %+v", p)
	}
	cancel()
	calls.Wait()
	b.settle(t)
	if p = b.Pulse(t.Context()); !p.Draining || p.NotReady == "" || p.Running+p.Queued != 0 || p.Reserved != 0 {
		t.Errorf("in the end: %+v", p)
	}
}
