package curator

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/internal/catalog"
)

// freshFor is how old the picture of the store may get: what another process wrote is seen after that.
const freshFor = 500 * time.Millisecond

// roster knows which principals have which custom skills.
type roster struct {
	records Records
	forget  func(*slot) // is told of those that are in no picture any more

	mu    sync.Mutex // held while looking
	seen  atomic.Pointer[picture]
	until atomic.Int64 // unix nanoseconds until which seen is fresh
}

// picture is the roster at one version. It never changes.
type picture struct {
	version int64
	owners  map[catalog.Owner]*pack
	ids     map[int64]*pack
}

// look returns a picture that is fresh enough. While one caller looks, the others go on with what is known.
func (r *roster) look(ctx context.Context) (*picture, error) {
	p := r.seen.Load()
	if p != nil && (time.Now().UnixNano() < r.until.Load() || !r.mu.TryLock()) {
		return p, nil
	}
	if p == nil {
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	if p = r.seen.Load(); p != nil && time.Now().UnixNano() < r.until.Load() {
		return p, nil
	}
	return r.update(ctx)
}

// again has everybody see what was just written.
func (r *roster) again(ctx context.Context) {
	ctx, cancel := brief(ctx)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.update(ctx); err != nil {
		r.until.Store(0) // the next one who looks finds out
	}
}

// update takes over what has changed. The caller holds mu.
func (r *roster) update(ctx context.Context) (*picture, error) {
	began := time.Now()
	old := r.seen.Load()
	if old == nil {
		old = &picture{}
	}
	version, err := r.records.CatalogVersion(ctx)
	if err != nil {
		return nil, err
	}
	next := old
	if version != old.version {
		held, version, err := r.records.Holdings(ctx, old.version)
		if err != nil {
			return nil, err
		}
		next = &picture{version: version, owners: maps.Clone(old.owners), ids: maps.Clone(old.ids)}
		if next.owners == nil {
			next.owners, next.ids = map[catalog.Owner]*pack{}, map[int64]*pack{}
		}
		for _, h := range held {
			next.enter(h, r.forget)
		}
	}
	r.seen.Store(next)
	r.until.Store(began.Add(freshFor).UnixNano())
	return next, nil
}

// enter takes over what a principal has now. A skill that did not change keeps its slot.
func (p *picture) enter(h catalog.Holding, forget func(*slot)) {
	old := p.ids[h.ID]
	delete(p.ids, h.ID)
	delete(p.owners, h.Owner)
	next := &pack{id: h.ID, owner: h.Owner, version: p.version, slots: make(map[string]*slot, len(h.Skills))}
	for _, l := range h.Skills {
		next.names = append(next.names, l.Name)
		if kept := old.slot(l.Name); kept != nil && kept.label == l {
			next.slots[l.Name] = kept
			continue
		}
		next.slots[l.Name] = newSlot(l)
	}
	if len(h.Skills) > 0 {
		p.ids[h.ID], p.owners[h.Owner] = next, next
	}
	for _, name := range old.all() {
		if gone := old.slots[name]; gone != next.slots[name] {
			forget(gone)
		}
	}
}

// pack is what one principal has. It never changes.
type pack struct {
	id      int64
	owner   catalog.Owner
	version int64 // of the picture that it was made for
	names   []string
	slots   map[string]*slot // by name
}

// all returns the names of what is there. p may be nil.
func (p *pack) all() []string {
	if p == nil {
		return nil
	}
	return p.names
}

// slot returns what is under a name, or nil. p may be nil.
func (p *pack) slot(name string) *slot {
	if p == nil {
		return nil
	}
	return p.slots[name]
}
