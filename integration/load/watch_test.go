package load

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// figures are what was seen while the load lasted.
type figures struct {
	mostCells   int // of this run on the engine at once
	mostWaiting int // cells that wait, as the engine tells: made ahead, and of no call
	settled     int64
	end         int64 // resident bytes after a minute, or at once in a short run, and at the end
}

// resident is this process's memory in bytes.
func resident() int64 {
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// watch looks at the engine every second, until what it returns is called.
func (l *load) watch() func() figures {
	var f figures
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		for second := 1; ; second++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
			if second == 1 || second == 60 {
				f.settled = resident()
			}
			l.count(ctx, &f)
		}
	})
	return func() figures {
		cancel()
		watching.Wait()
		f.end = resident()
		return f
	}
}

// count counts the cells that there are. One that was leased a moment ago counts as waiting no more.
func (l *load) count(ctx context.Context, f *figures) {
	all, err := l.Cells.List(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.t.Errorf("list: %v", err)
		}
		return
	}
	cells, waiting := 0, 0
	for _, c := range all {
		if c.Kind != "cell" || c.Labels[sandbox.LabelInstance] != instance {
			continue
		}
		cells++
		if c.Labels[sandbox.LabelPool] != "" && !l.Waited(c.ID) {
			waiting++
		}
	}
	f.mostCells, f.mostWaiting = max(f.mostCells, cells), max(f.mostWaiting, waiting)
}

// judge holds the figures against their bounds and prints those of a long run. Times are judged in a long run alone.
func (l *load) judge(f figures, long time.Duration) {
	if f.mostCells > mostCells+mostWait || f.mostWaiting > mostWait {
		l.t.Errorf("%d cells at once, %d of them waiting, want at most %d and %d", f.mostCells, f.mostWaiting, mostCells+mostWait, mostWait)
	}
	if l.wrong > 0 {
		l.t.Errorf("%d of %d answers were wrong", l.wrong, l.done.Load())
	}
	l.fair(long > 0)
	if long == 0 {
		return
	}
	first, last := l.rate(long)
	fmt.Printf("soak: load for %v: %d calls, %d wrong, %d sent away at the end, %.1f calls/s in the first minute, %.1f in the last; memory %d KiB after a minute, %d KiB at the end; "+
		"at most %d cells at once, %d of them waiting\n", long, l.done.Load(), l.wrong, l.away.Load(), first, last, f.settled>>10, f.end>>10, f.mostCells, f.mostWaiting)
	fmt.Printf("soak: calls/s by tenths of the time: %s\n", l.tenths(long))
	if last < 0.9*first {
		l.t.Errorf("%.1f calls/s in the last minute, %.1f in the first: want nine tenths of it", last, first)
	}
	if f.end > f.settled+memoryGrowth {
		l.t.Errorf("memory grew from %d KiB to %d KiB", f.settled>>10, f.end>>10)
	}
}

// memoryGrowth is what a supervisor may take more at the end than after a minute: the answers that it remembers for ten
// minutes, in case that a request is sent again.
const memoryGrowth = 32 << 20

// rate is how many calls were completed a second, at first and at last. The first ten seconds and what came after the last
// call was made don't count.
func (l *load) rate(long time.Duration) (first, last float64) {
	const warmUp = 10
	all := l.seconds[:min(len(l.seconds), int(long/time.Second))]
	if len(all) <= 2*warmUp {
		return 0, 0
	}
	all = all[warmUp:]
	span := min(60, len(all)/2)
	sum := func(some []int) (n float64) {
		for _, v := range some {
			n += float64(v)
		}
		return n / float64(len(some))
	}
	return sum(all[:span]), sum(all[len(all)-span:])
}

// tenths are the calls a second in each tenth of the time.
func (l *load) tenths(long time.Duration) string {
	var all []string
	step := max(1, int(long/time.Second)/10)
	for part := range slices.Chunk(l.seconds[:min(len(l.seconds), 10*step)], step) {
		n := 0
		for _, v := range part {
			n += v
		}
		all = append(all, fmt.Sprintf("%.1f", float64(n)/float64(len(part))))
	}
	return strings.Join(all, " ")
}

// fairness is how far a tenant's share of the calls may be from an equal one, for tenants that always have callers queued.
const fairness = 0.10

// fair holds tenants to their shares, and the one with a single caller to the time that its turn takes: a fifth of the
// cells' time.
func (l *load) fair(strict bool) {
	total, queued := 0, 0
	for _, t := range tenants {
		if t.callers > 1 {
			total, queued = total+l.tally[t.name], queued+1
		}
	}
	for _, t := range tenants {
		waits := l.waits[t.name]
		slices.Sort(waits)
		if strict && len(waits) > 0 {
			fmt.Printf("soak: tenant %s of %d callers: %d calls, half of them within %v\n", t.name, t.callers, l.tally[t.name], waits[len(waits)/2].Round(time.Millisecond))
		}
		if len(waits) == 0 {
			l.t.Errorf("tenant %s had no call", t.name)
		}
		share := float64(l.tally[t.name]) / float64(total) * float64(queued)
		if strict && t.callers > 1 && (share < 1-fairness || share > 1+fairness) {
			l.t.Errorf("tenant %s had %.2f of an equal share", t.name, share)
		}
	}
	if strict {
		var kinds []string
		for name, n := range l.ends {
			kinds = append(kinds, fmt.Sprintf("%s %d", name, n))
		}
		slices.Sort(kinds)
		fmt.Printf("soak: %s\n", strings.Join(kinds, ", "))
	}
}
