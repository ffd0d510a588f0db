package warm

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

const (
	look      = time.Second           // between two looks at what waits
	patience  = 2 * time.Second       // longest that calls which start cold keep the keeper from starting ahead
	breath    = 25 * time.Millisecond // that a lease has the host for itself, while leases are few
	few       = 4                     // leases in a second
	startTime = 30 * time.Second      // of one cell
	goTime    = 30 * time.Second      // of one attempt to destroy one: longer than an engine takes to give up a node that is lost

	mostComing = 4 // cells that are started, and not ready yet
)

var errNotReady = errors.New("the cell did not report ready in time")

// keep starts and retires cells until the pool is drained.
func (p *pool) keep() {
	tick := time.NewTicker(look)
	defer tick.Stop()
	held := time.Now()
	for {
		next, wait := p.due(held)
		if next != nil {
			began, again := time.Now(), p.book(next)
			if p.opts.Elsewhere > 0 {
				p.work.Go(func() { p.stock(next, began, again) })
			} else {
				p.stock(next, began, again)
			}
			held = time.Now()
			continue
		}
		var rested <-chan time.Time
		if wait > 0 {
			rested = time.After(wait)
		}
		select {
		case <-rested:
		case <-p.wake:
		case <-tick.C:
		case <-p.ctx.Done():
			return
		}
	}
}

// due retires what should not wait any more, and returns the shelf that a cell should be started for now; nil if there is
// none, or not before wait is over. Calls that start cold come first, though not for ever: held is when the last start was.
func (p *pool) due(held time.Time) (next *shelf, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.tidy(now)
	if p.opts.Elsewhere > 0 {
		return p.next(now), 0
	}
	if wait = p.leases.breath(now); wait > 0 {
		return nil, wait
	}
	if p.cold == 0 || now.Sub(held) >= patience {
		next = p.next(now)
	}
	return next, 0
}

// tidy retires what waited too long, what nobody asks for any more, and what the calls in flight leave no room for.
func (p *pool) tidy(now time.Time) {
	for key, s := range p.shelves {
		want := s.demand.want(now, p.opts.Idle)
		for len(s.members) > 0 && (len(s.members) > want || now.Sub(s.members[0].made) >= p.opts.MaxAge) {
			p.take(s)
		}
		if want == 0 && len(s.members) == 0 {
			delete(p.shelves, key)
		}
	}
	for !p.room(-p.leaving.memory) {
		s := p.least(now, nil)
		if s == nil {
			return
		}
		p.take(s)
	}
}

// take retires the oldest member of a shelf.
func (p *pool) take(s *shelf) {
	m := s.members[0]
	s.members = s.members[1:]
	p.retire(m)
}

// room reports whether there is room for what waits and for so much more memory.
func (p *pool) room(more int64) bool {
	return p.opts.Room == nil || p.opts.Room(p.memory+more)
}

// next returns the shelf that a cell should be started for: of those that lack cells, the one with the most calls for each
// cell that it would have. So shelves share the places as they share the calls. Where all are taken it makes one free on a
// shelf with fewer calls a cell, or returns nil.
func (p *pool) next(now time.Time) *shelf {
	if p.coming >= max(mostComing, p.opts.Elsewhere) || p.opts.Busy != nil && p.opts.Busy() {
		return nil
	}
	var best *shelf
	for _, s := range p.shelves {
		if s.lacks(now, p.opts.Idle) && (best == nil || s.worth(now, 1) > best.worth(now, 1)) {
			best = s
		}
	}
	if best == nil || p.room(best.memory) && p.waiting < p.opts.Max {
		return best
	}
	if victim := p.least(now, best); victim != nil && p.waiting-p.leaving.cells >= p.opts.Max {
		p.take(victim)
	}
	return nil
}

// least returns the shelf with a member that has the fewest recent calls a cell; with above, only one that has clearly
// fewer than that would have with one cell more.
func (p *pool) least(now time.Time, above *shelf) *shelf {
	var least *shelf
	for _, s := range p.shelves {
		if len(s.members) == 0 || s == above || above != nil && s.worth(now, 0) >= above.worth(now, 1) {
			continue
		}
		if least == nil || s.worth(now, 0) < least.worth(now, 0) {
			least = s
		}
	}
	return least
}

// book counts a cell in that is to be started for a shelf, and returns what makes its spec.
func (p *pool) book(s *shelf) (again func(time.Duration) (*sandbox.Spec, func(), error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.coming++
	p.coming++
	p.count(1, s.memory)
	return s.again
}

// stock starts a cell that was booked for a shelf. It joins the others once it is ready.
func (p *pool) stock(s *shelf, began time.Time, again func(time.Duration) (*sandbox.Spec, func(), error)) {
	m, err := p.start(again, s.memory)
	if err != nil {
		p.settle(s, m, began, err)
		return
	}
	p.work.Go(func() { p.settle(s, m, began, p.await(m)) })
}

// settle puts a cell that was started on its shelf, or away.
func (p *pool) settle(s *shelf, m *member, began time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.signal()
	s.coming--
	p.coming--
	switch {
	case m == nil:
		p.opts.Watch.Wasted("not_made")
		p.count(-1, -s.memory)
		s.failed(time.Now())
		if p.ctx.Err() == nil {
			p.opts.Log.Warn("a cell could not be started ahead", "skill", s.skill, "error", err)
		}
	case err != nil:
		p.opts.Watch.Wasted("not_ready")
		s.failed(time.Now())
		if p.ctx.Err() == nil {
			p.opts.Log.Warn("a cell that was started ahead is of no use", "skill", s.skill, "error", err)
		}
		p.retire(m)
	case p.shelves[s.key] != s: // outdated or drained meanwhile
		p.opts.Watch.Wasted("outdated")
		p.retire(m)
	default:
		p.opts.Watch.Refilled(time.Since(began))
		s.members = append(s.members, m)
		select {
		case <-m.dead: // too early for gone to find it
			s.remove(m)
			s.failed(time.Now())
			p.opts.Watch.Wasted("died")
			p.retire(m)
		default:
		}
	}
}

// start makes and starts one cell. Where it returns a member and an error, the member is to be retired.
func (p *pool) start(again func(time.Duration) (*sandbox.Spec, func(), error), memory int64) (*member, error) {
	spec, release, err := again(p.opts.MaxAge)
	if err != nil {
		return nil, err
	}
	release = p.know(spec.Name, release)
	ctx, cancel := context.WithTimeout(p.ctx, startTime)
	defer cancel()
	box, err := p.inner.Create(ctx, spec)
	if err != nil {
		release()
		return nil, err
	}
	if err := box.Start(ctx); err != nil {
		return &member{Sandbox: box, name: spec.Name, memory: memory, release: release, leased: p.signal}, err
	}
	m := watchOver(box, spec.Name, memory, release, p.opts.Words, p.gone)
	m.leased = p.signal
	return m, nil
}

// await waits until a started cell is ready.
func (p *pool) await(m *member) error {
	timer := time.NewTimer(p.opts.Ready)
	defer timer.Stop()
	select {
	case <-m.ready:
		if s, ok := m.Sandbox.(sandbox.Shortener); ok {
			s.Shorten()
		}
		return nil
	case <-m.dead:
		return errors.New(m.why)
	case <-timer.C:
		return errNotReady
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// know keeps a cell's name until what it returns is called, which gives back what the cell held too.
func (p *pool) know(name string, release func()) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names[name] = true
	return sync.OnceFunc(func() {
		release()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.names, name)
	})
}

// retire destroys a member that no call had, in the background. One that will not die keeps its place, and is tried again
// until the pool is drained; then it is the reaper's. The caller holds mu.
func (p *pool) retire(m *member) {
	p.leaving.count(1, m.memory)
	p.work.Go(func() {
		stays := sync.OnceFunc(func() { p.leaving.count(-1, -m.memory) })
		for wait := look; ; wait = min(2*wait, 30*time.Second) {
			ctx, cancel := context.WithTimeout(context.Background(), goTime)
			err := m.Destroy(ctx)
			cancel()
			if err == nil {
				break
			}
			p.opts.Log.Warn("a cell that waited will not die", "cell", m.name, "error", err)
			p.mu.Lock()
			stays()
			p.mu.Unlock()
			select {
			case <-time.After(wait):
			case <-p.ctx.Done():
				return
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		stays()
		p.count(-1, -m.memory)
		p.signal()
	})
}
