package warm

import (
	"context"
	"sync"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// pool is all that waits. One goroutine, the keeper, starts and retires cells; calls only take what is there.
type pool struct {
	inner sandbox.Driver
	opts  Options

	ctx    context.Context // ends with drain
	cancel context.CancelFunc
	wake   chan struct{} // buffered: something changed
	work   sync.WaitGroup

	mu       sync.Mutex
	shelves  map[string]*shelf
	names    map[string]bool // of cells from before their creation until they are destroyed, by calls too
	waiting  int             // cells that wait, start, or will not die
	memory   int64           // of these, by their limits
	leaving  leaving         // those of them that are being destroyed
	coming   int             // cells that are started, and not ready yet
	cold     int             // calls that start a cell of their own
	leases   leases          // the latest ones
	keeping  bool            // the keeper runs
	draining bool
}

// leaving is what will be free in a moment.
type leaving struct {
	cells  int
	memory int64
}

func (l *leaving) count(cells int, memory int64) {
	l.cells += cells
	l.memory += memory
}

func newPool(inner sandbox.Driver, opts Options) *pool {
	p := &pool{
		inner: inner, opts: opts, wake: make(chan struct{}, 1),
		shelves: map[string]*shelf{}, names: map[string]bool{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// lease returns a waiting cell for spec. Where there is none it returns what ends a start of the call's own: until then
// nothing is started ahead.
func (p *pool) lease(spec *sandbox.Spec) (*member, func()) {
	defer p.signal()
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.shelves[spec.Key] != nil
	if s := p.shelf(spec); s != nil {
		s.demand.note(time.Now())
		s.again = spec.Again
		if m := p.pick(s); m != nil {
			return m, nil
		}
	}
	p.opts.Watch.Missed(p.why(known))
	p.cold++
	return nil, sync.OnceFunc(func() {
		p.mu.Lock()
		p.cold--
		p.mu.Unlock()
		p.signal()
	})
}

// leaseKey returns a waiting cell. The call of one that gets none is not counted: it comes again with its spec. The keeper hears of it
// once the cell is waited for: its request comes first.
func (p *pool) leaseKey(key string) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shelves[key]
	if s == nil {
		return nil
	}
	m := p.pick(s)
	if m != nil {
		s.demand.note(time.Now())
	}
	return m
}

// pick takes the oldest living member off its shelf.
func (p *pool) pick(s *shelf) *member {
	for len(s.members) > 0 {
		m := s.members[0]
		s.members = s.members[1:]
		if !m.lease() {
			p.retire(m)
			continue
		}
		s.failures = 0
		p.count(-1, -m.memory)
		p.leases.note(time.Now())
		return m
	}
	return nil
}

// shelf returns the shelf of spec's key, and empties those of an older content of the same skill. It starts the keeper
// and the guard with the first one; a draining pool has none.
func (p *pool) shelf(spec *sandbox.Spec) *shelf {
	if p.draining {
		return nil
	}
	if s := p.shelves[spec.Key]; s != nil {
		return s
	}
	s := newShelf(spec)
	for key, old := range p.shelves {
		if s.outdates(old) {
			p.clear(old)
			delete(p.shelves, key)
		}
	}
	p.shelves[spec.Key] = s
	if !p.keeping {
		p.keeping = true
		p.work.Go(p.keep)
		p.work.Go(p.guard)
	}
	return s
}

// clear retires all of a shelf's members.
func (p *pool) clear(s *shelf) {
	for _, m := range s.members {
		p.retire(m)
	}
	s.members = nil
}

// count changes how much waits.
func (p *pool) count(cells int, memory int64) {
	p.waiting += cells
	p.memory += memory
}

// why says why a call gets no waiting cell.
func (p *pool) why(known bool) string {
	switch {
	case p.draining:
		return "draining"
	case known:
		return "empty"
	}
	return "unknown"
}

// counted returns how many cells are ready, are being started and are being destroyed.
func (p *pool) counted() (ready, starting, leaving int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.shelves {
		ready += len(s.members)
	}
	return ready, p.coming, p.leaving.cells
}

func (p *pool) keeps(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[name]
}

func (p *pool) ids(skill string) (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.shelves {
		for _, m := range s.members {
			if s.skill == skill {
				ids = append(ids, m.ID())
			}
		}
	}
	return ids
}

func (p *pool) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// gone is told by a member that it is no longer fit to be leased, and why.
func (p *pool) gone(m *member, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.shelves {
		if s.remove(m) {
			s.failed(time.Now())
			p.opts.Watch.Wasted("died")
			p.opts.Log.Warn("a cell that waited is of no use", "skill", s.skill, "cell", m.name, "why", why, "printed", m.words.Load())
			p.retire(m)
		}
	}
	p.signal()
}

// drain retires all and returns once everything is gone, or is known not to go.
func (p *pool) drain() {
	p.mu.Lock()
	p.draining = true
	for key, s := range p.shelves {
		p.clear(s)
		delete(p.shelves, key)
	}
	p.mu.Unlock()
	p.cancel()
	p.work.Wait()
}
