package scale

import (
	"context"
	"sync"
	"time"
)

// sleep waits, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// station serves so many at a time, first come first served.
type station struct {
	slots chan struct{}
	used  *gauge
}

func newStation(servers int, used *gauge) *station {
	return &station{slots: make(chan struct{}, servers), used: used}
}

// use waits for a server and has it for d.
func (s *station) use(ctx context.Context, d time.Duration) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.used.add(1)
	defer func() {
		s.used.add(-1)
		<-s.slots
	}()
	return sleep(ctx, d)
}

// gauge is how much of something is taken, and how much was on average.
type gauge struct {
	mu    sync.Mutex
	now   int
	most  int // ever
	room  int // all of it
	sum   time.Duration
	since time.Time
	from  time.Time
}

func newGauge(room int) *gauge {
	now := time.Now()
	return &gauge{room: room, since: now, from: now}
}

func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass()
	g.now += n
	g.most = max(g.most, g.now)
}

// pass counts the time until now.
func (g *gauge) pass() {
	now := time.Now()
	g.sum += time.Duration(g.now) * now.Sub(g.since)
	g.since = now
}

// restart forgets the past.
func (g *gauge) restart() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sum, g.since = 0, time.Now()
	g.from = g.since
}

// share is how much was taken since the start, of 1.
func (g *gauge) share() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass()
	if whole := g.since.Sub(g.from) * time.Duration(g.room); whole > 0 {
		return float64(g.sum) / float64(whole)
	}
	return 0
}

// pace lets a number through in a second, and some at once after a pause: a token bucket.
type pace struct {
	mu    sync.Mutex
	every time.Duration
	burst time.Duration
	next  time.Time // when the bucket would be empty
	used  *gauge    // one at a time for every: full when its limit is what counts
}

func newPace(perSecond int) *pace {
	every := time.Second / time.Duration(perSecond)
	return &pace{every: every, burst: 2 * time.Second, next: time.Now().Add(-2 * time.Second), used: newGauge(1)}
}

// take waits for its turn.
func (p *pace) take(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	if first := now.Add(-p.burst); p.next.Before(first) {
		p.next = first
	}
	p.next = p.next.Add(p.every)
	wait := p.next.Sub(now)
	p.mu.Unlock()
	p.used.count(p.every)
	return sleep(ctx, wait)
}

// count adds what was used without being held.
func (g *gauge) count(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sum += d
}
