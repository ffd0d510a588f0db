package warm

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// notes writes down what a pool tells.
type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, s)
}

func (n *notes) Leased(warm bool)       { n.add(fmt.Sprint("leased ", warm)) }
func (n *notes) Missed(why string)      { n.add("missed " + why) }
func (n *notes) Refilled(time.Duration) { n.add("refilled") }
func (n *notes) Wasted(why string)      { n.add("wasted " + why) }
func (n *notes) has(what string) (c int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.all {
		if strings.HasPrefix(s, what) {
			c++
		}
	}
	return c
}

// What becomes of leases is told, and why there was none.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{}
		b := newBench(t, answer, Options{Max: 1, Watch: n})
		b.call(b.spec("s", "1", "p"))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if most := b.warm.Max(); most != 1 {
			t.Errorf("at most %d wait", most)
		}
		if ready, starting, leaving := b.warm.Count(); ready != 1 || starting != 0 || leaving != 0 {
			t.Errorf("%d ready, %d starting, %d leaving", ready, starting, leaving)
		}
		b.call(b.spec("s", "1", "p"))
		b.call(b.spec("s", "1", "p")) // before the next one is ready
		b.call(b.spec("s", "1", "other policy"))
		b.warm.Drain()
		b.call(b.spec("s", "1", "p"))
		want := []string{"leased true", "missed unknown", "missed empty", "missed draining", "refilled"}
		for _, w := range want {
			if n.has(w) == 0 {
				t.Errorf("nobody said %s: %v", w, n.all)
			}
		}
		if n.has("leased true") != 1 || n.has("leased false") != n.has("missed") {
			t.Errorf("%v", slices.Sorted(slices.Values(n.all)))
		}
		if err := b.warm.Close(); err != nil {
			t.Error(err)
		}
	})
}
