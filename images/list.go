package images

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// What an image is, as [Keeper.List] tells it.
const (
	StatePinned  = "pinned"  // its content is here
	StateStale   = "stale"   // it is pinned, and its tag stands for other content by now
	StateMissing = "missing" // it is pinned, and its content is not here
	StateUnknown = "unknown" // it is pinned, and nobody knows what is here
	StatePulled  = "pulled"  // not pinned; hotcell brought it
	StateOwn     = "imported"
)

// Row is an image that hotcell knows of.
type Row struct {
	Ref    string `json:"ref"`
	ID     string `json:"id,omitempty"`
	Digest string `json:"digest,omitempty"`
	State  string `json:"state"`
	Note   string `json:"note,omitempty"` // more about its state
	By     string `json:"by,omitempty"`   // how its pin came about
	Size   int64  `json:"size"`
}

// How registries are asked about tags.
const (
	askLimit = 10 * time.Second // all together
	askers   = 4                // at once
)

// List tells of all pins, and of what hotcell pulled, sorted. With ask it asks the registries which content the tags have there,
// and with all it tells of everything that the store has. A store that can't be asked is told of in the rows.
func (k *Keeper) List(ctx context.Context, ask, all bool) ([]Row, error) {
	depot, ok := k.o.Store.(Depot)
	if !ok || k.o.Ledger == nil || k.o.Lock == nil {
		return nil, nil
	}
	pins, err := k.o.Lock.Pins()
	if err != nil {
		return nil, err
	}
	brought, err := k.o.Ledger.Entries()
	if err != nil {
		return nil, err
	}
	if len(pins) == 0 && len(brought) == 0 && !all {
		return nil, nil
	}
	stock, failed := depot.Stock(ctx)
	if failed != nil && all {
		return nil, failed
	}
	var rows []Row
	told := map[string]bool{}
	for tag, p := range pins {
		r := pinnedRow(tag, p, stock, failed)
		told[r.ID] = true
		rows = append(rows, r)
	}
	if ask {
		k.askAll(ctx, depot, rows)
	}
	for id, have := range stock {
		e, pulled := brought[id]
		switch {
		case told[id]:
		case pulled:
			rows = append(rows, Row{Ref: e.Ref, ID: id, State: StatePulled, Size: have.Size})
		case all:
			for _, name := range have.Names {
				rows = append(rows, Row{Ref: name, ID: id, State: StateOwn, Size: have.Size})
			}
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Or(cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.ID, b.ID)) })
	return rows, nil
}

// pinnedRow compares a pin with what is here.
func pinnedRow(tag string, p Pin, stock map[string]Stocked, failed error) Row {
	r := Row{Ref: Familiar(tag), ID: p.ID, Digest: p.Digest, By: p.By, State: StateMissing}
	if failed != nil {
		r.State, r.Note = StateUnknown, failed.Error()
		return r
	}
	moved := ""
	for id, have := range stock {
		if id == p.ID && p.Digest == "" || p.Digest != "" && has(have, tag, p.Digest) {
			r.State, r.ID, r.Size = StatePinned, id, have.Size
			continue
		}
		if slices.ContainsFunc(have.Names, func(name string) bool { return Tag(name) == tag }) {
			moved = id
		}
	}
	switch {
	case moved == "" || moved == r.ID && r.State == StatePinned:
	case r.State == StatePinned:
		r.State, r.Note = StateStale, "the tag is "+Short(moved)+" here"
	default:
		r.Note = "the tag is " + Short(moved) + " here"
	}
	return r
}

// has reports whether an image has a digest in the repository of a tag.
func has(have Stocked, tag, digest string) bool {
	_, mine := Repository(tag)
	return slices.ContainsFunc(have.Digests, func(d string) bool {
		_, theirs := Repository(d)
		return theirs == mine && Digest(d) == digest
	})
}

// askAll asks the registries about the rows that they know.
func (k *Keeper) askAll(ctx context.Context, depot Depot, rows []Row) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var all sync.WaitGroup
	turn := make(chan struct{}, askers)
	for i := range rows {
		r := &rows[i]
		if r.Digest == "" {
			continue
		}
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			now, err := depot.Remote(ctx, r.Ref)
			switch {
			case err != nil:
				r.note("the registry does not say what it has: " + err.Error())
			case now != r.Digest:
				r.note("the registry has " + Short(now))
				if r.State == StatePinned {
					r.State = StateStale
				}
			}
		})
	}
	all.Wait()
}

func (r *Row) note(text string) {
	if r.Note != "" {
		text = r.Note + "; " + text
	}
	r.Note = text
}

// Familiar is a tag as people write it.
func Familiar(tag string) string {
	tag = strings.TrimPrefix(tag, "docker.io/")
	return strings.TrimPrefix(tag, "library/")
}

// Missing returns the tags that are pinned to content that is not here, sorted, each with what it is pinned to.
func (k *Keeper) Missing(ctx context.Context) ([]string, error) {
	rows, err := k.List(ctx, false, false)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, r := range rows {
		switch r.State {
		case StateUnknown:
			return nil, fmt.Errorf("%s", r.Note)
		case StateMissing:
			missing = append(missing, r.Ref+" ("+Short(cmp.Or(r.Digest, r.ID))+")")
		}
	}
	return missing, nil
}
