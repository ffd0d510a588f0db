package warm

import (
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// share is the part of its time that a waiting cell may use a processor for: one in so many.
const share = 100

// guard looks at the cells that wait until the pool is drained. They block on their stdin: one that works instead takes
// time from the calls, and one that ran out of memory has a mark on it that its call would be blamed for.
func (p *pool) guard() {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.ctx.Done():
			return
		}
		for _, m := range p.all() {
			if why := m.offence(time.Now(), p.opts.CPU); why != "" {
				m.fail(why)
			}
		}
	}
}

// all returns the members of all shelves.
func (p *pool) all() (members []*member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.shelves {
		members = append(members, s.members...)
	}
	return members
}

// offence says what the kernel counted of a waiting cell that none may do; "" for nothing. cpu is what loading may take.
func (m *member) offence(now time.Time, cpu time.Duration) string {
	ev := m.Evidence()
	switch {
	case ev.Confidence != sandbox.ConfidenceKernel:
		return "" // nobody can look
	case ev.OOMKilled || ev.Pressure:
		return "it ran out of memory"
	case ev.Usage.CPU > cpu+now.Sub(m.made)/share:
		return "it works while it waits: " + ev.Usage.CPU.Round(time.Millisecond).String() + " of processor time"
	}
	return ""
}
