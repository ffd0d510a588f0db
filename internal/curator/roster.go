package curator

import (
	"context"
	"maps"

	"github.com/hotcell/hotcell/internal/catalog"
)

// roster knows which principals have which custom skills.
type roster struct {
	sight[picture]
	records Records
	forget  func(*slot) // is told of those that are in no picture any more
}

func newRoster(records Records, forget func(*slot)) *roster {
	r := &roster{records: records, forget: forget}
	r.update = r.after
	return r
}

// picture is the roster at one version. It never changes.
type picture struct {
	version int64
	owners  map[catalog.Owner]*pack
	ids     map[int64]*pack
}

// after is the picture that follows an old one.
func (r *roster) after(ctx context.Context, old *picture) (*picture, error) {
	if old == nil {
		old = &picture{owners: map[catalog.Owner]*pack{}, ids: map[int64]*pack{}}
	}
	version, err := r.records.CatalogVersion(ctx)
	if err != nil || version == old.version {
		return old, err
	}
	held, version, err := r.records.Holdings(ctx, old.version)
	if err != nil {
		return nil, err
	}
	next := &picture{version: version, owners: maps.Clone(old.owners), ids: maps.Clone(old.ids)}
	for _, h := range held {
		next.enter(h, r.forget)
	}
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
