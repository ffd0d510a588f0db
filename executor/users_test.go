package executor

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/sandbox"
)

// More calls than there are user ids wait for one where cells need it, and all run where the engine gives each its own.
func TestMoreCallsThanUserIDs(t *testing.T) {
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const many = uidCount + 100
			b := setUp(t, hang, func(c *Config) { c.MaxCells, c.MaxMemory, c.QueueTimeout = 2*many, 1<<40, time.Hour })
			b.driver.SetCapabilities(sandbox.Capabilities{OS: "linux", Arch: "amd64", CPUs: 8, Memory: 1 << 40, OwnUsers: own})
			ctx, hangUp := context.WithCancel(t.Context())
			var calls sync.WaitGroup
			refused := make(chan string, many)
			for range many {
				calls.Go(func() {
					if got := verdict(b.Call(ctx, a2e.Caller{Door: "test"}, timed("free", 60), nil)); ctx.Err() == nil {
						refused <- got
					}
				})
			}
			time.Sleep(time.Second)
			synctest.Wait()
			want := mostCells
			if own {
				want = many
			}
			if cells, _ := b.gate.queue.Held(); cells != want || b.driver.Stats().Live != want || len(refused) > 0 {
				t.Errorf("own users %t: %d cells are handed out and %d live, want %d; %d calls ended", own, cells, b.driver.Stats().Live, want, len(refused))
			}
			hangUp()
			calls.Wait()
		})
	}
}
