package executor

import (
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// mostPhases is how many phases of a call are told apart: one that gets a second cell has some again.
const mostPhases = 12

// course is the phases that a call has been through. The goroutine that serves the call writes it.
type course struct {
	mu    sync.Mutex
	n     int
	steps [mostPhases]step
}

// step is a phase and when it began. It lasts until the next one begins.
type step struct {
	name string
	at   time.Time
}

// enter begins a phase. Once there is no room the last one goes on.
func (c *course) enter(name string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n < mostPhases {
		c.steps[c.n] = step{name, at}
		c.n++
	}
}

// phases are those of a call that was accepted at a time and ended at another; the zero time: it goes on.
func (c *course) phases(accepted, ended time.Time) []control.Phase {
	if ended.IsZero() {
		ended = time.Now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == 0 {
		return nil
	}
	all := make([]control.Phase, c.n)
	for i := c.n - 1; i >= 0; i-- {
		from := c.steps[i].at
		all[i] = control.Phase{Name: c.steps[i].name, From: from.Sub(accepted), Took: max(0, ended.Sub(from))}
		ended = from
	}
	return all
}
