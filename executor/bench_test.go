package executor

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	sqlite "github.com/hotcell/hotcell/internal/store"
)

// BenchmarkJournal is a whole call of a cell that costs next to nothing, without a journal and with one, by what a loss of
// power may cost: alone, and eight at a time.
func BenchmarkJournal(b *testing.B) {
	for _, sync := range []string{"none", "off", "normal", "full"} {
		for _, at := range []int{1, 8} {
			b.Run(fmt.Sprintf("sync=%s/calls=%d", sync, at), func(b *testing.B) { benchmarkCalls(b, sync, at) })
		}
	}
}

func benchmarkCalls(b *testing.B, sync string, at int) {
	var journal Journal
	if sync != "none" {
		s, err := sqlite.Open(context.Background(), sqlite.Options{
			Path: dbPath(b), Sync: sync, Keep: sqlite.Keep{Events: time.Hour, Artifacts: time.Hour},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		journal = s
	}
	super := setUp(b, well, func(c *Config) { c.Journal, c.MaxCells = journal, 16 })
	next := make(chan struct{})
	var failed atomic.Int64
	for range at {
		super.tidying.Go(func() {
			for range next {
				if super.Call(context.Background(), a2e.Caller{Door: "test"}, req("free"), nil).Error != nil {
					failed.Add(1)
				}
			}
		})
	}
	for b.Loop() {
		next <- struct{}{}
	}
	close(next)
	if n := failed.Load(); n > 0 {
		b.Errorf("%d calls failed", n)
	}
}
