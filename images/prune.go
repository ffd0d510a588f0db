package images

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// ErrInUse is what [Depot.Discard] returns for an image that somebody uses.
var ErrInUse = errors.New("in use")

// Depot is a [Store] that can be looked through and tidied up.
type Depot interface {
	Store
	// Stock returns what is there, by content id.
	Stock(ctx context.Context) (map[string]Stocked, error)
	// Discard removes an image by its content id. It fails with [ErrInUse] where a cell, or anybody else, has it in use.
	Discard(ctx context.Context, id string) error
	// Remote asks the registry which digest a tag has there. Nothing is fetched.
	Remote(ctx context.Context, ref string) (digest string, err error)
}

// Stocked is an image that is there.
type Stocked struct {
	Names   []string // its tags
	Digests []string // repository@sha256:...
	Users   int      // containers that were made from it, running or not
	Size    int64
}

// Verdict is what became of an image that hotcell brought.
type Verdict struct {
	ID      string    `json:"id"`
	Ref     string    `json:"ref"`
	Size    int64     `json:"size"`
	Used    time.Time `json:"used"`
	Removed bool      `json:"removed"`        // or would be
	Kept    string    `json:"kept,omitempty"` // why it stays
}

// PruneOptions say what [Keeper.Prune] may take.
type PruneOptions struct {
	Keep time.Duration // since its last use that an image stays, [Grace] at least
	Dry  bool          // only say what would be removed
	// Needed are references and digests, each with who names it. What they stand for stays: what is named by its content has no
	// pin that would keep it.
	Needed map[string]string
}

// Prune removes the images that this store pulled, that nobody needs, that no tag is pinned to, that no container was made from,
// that nobody gave a name of his own, and that were not used for some time. What others brought stays.
func (k *Keeper) Prune(ctx context.Context, o PruneOptions) ([]Verdict, error) {
	o.Keep = max(o.Keep, Grace)
	depot, ok := k.o.Store.(Depot)
	if !ok || k.o.Ledger == nil || k.o.Lock == nil {
		return nil, errors.New("images of this driver can't be collected")
	}
	brought, err := k.o.Ledger.Entries()
	if err != nil || len(brought) == 0 {
		return nil, err
	}
	looked := time.Now()
	stock, err := depot.Stock(ctx)
	if err != nil {
		return nil, err
	}
	var all []Verdict
	var errs []error
	for id, e := range brought {
		have, here := stock[id]
		if !here {
			if !o.Dry {
				gone := func(e Entry) (bool, error) { return e.Pulled.Before(looked), nil } // unless somebody brought it again meanwhile
				errs = append(errs, k.o.Ledger.Collect(ctx, id, gone))
			}
			continue
		}
		v := Verdict{ID: id, Ref: e.Ref, Size: have.Size, Used: e.Used}
		errs = append(errs, k.judge(ctx, depot, have, &v, o))
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b Verdict) int { return cmp.Or(cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.ID, b.ID)) })
	return all, errors.Join(errs...)
}

// judge decides about one image while nobody can begin to use it.
func (k *Keeper) judge(ctx context.Context, depot Depot, have Stocked, v *Verdict, o PruneOptions) error {
	return k.o.Ledger.Collect(ctx, v.ID, func(e Entry) (bool, error) {
		v.Used = e.Used
		pins, err := k.o.Lock.Pins()
		if err != nil {
			v.Kept = "nobody knows what is pinned"
			return false, err
		}
		if v.Kept = reason(v.ID, e, have, pins, o, time.Now()); v.Kept != "" {
			return false, nil
		}
		v.Removed = true
		if o.Dry {
			return false, nil
		}
		err = depot.Discard(ctx, v.ID)
		if err == nil {
			return true, nil
		}
		v.Removed, v.Kept = false, err.Error()
		if errors.Is(err, ErrInUse) {
			v.Kept, err = ErrInUse.Error(), nil
		}
		return false, err
	})
}

// reason is why an image stays, "" where it need not.
func reason(id string, e Entry, have Stocked, pins map[string]Pin, o PruneOptions, now time.Time) string {
	for tag, p := range pins {
		if p.ID == id || p.Digest != "" && has(have, tag, p.Digest) {
			return "pinned: " + tag
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(o.Needed)) {
		if _, pinned := pins[Tag(ref)]; !pinned && standsFor(ref, id, have) {
			return "named by " + o.Needed[ref]
		}
	}
	if have.Users > 0 {
		return ErrInUse.Error()
	}
	own := Tag(e.Ref)
	for _, name := range have.Names {
		if Tag(name) != own {
			return "somebody named it " + name
		}
	}
	last := e.Used
	if e.Pulled.After(last) {
		last = e.Pulled
	}
	if age := now.Sub(last); age < o.Keep {
		return "used " + age.Round(time.Second).String() + " ago"
	}
	return ""
}

// standsFor reports whether a reference is one to an image. A digest is enough, whatever repository is named with it.
func standsFor(ref, id string, have Stocked) bool {
	if digest := Digest(ref); digest != "" {
		return id == digest || slices.ContainsFunc(have.Digests, func(d string) bool { return Digest(d) == digest })
	}
	if isID(ref) {
		return strings.HasPrefix(strings.TrimPrefix(id, "sha256:"), strings.TrimPrefix(ref, "sha256:"))
	}
	tag := Tag(ref)
	return slices.ContainsFunc(have.Names, func(name string) bool { return Tag(name) == tag })
}
