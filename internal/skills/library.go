package skills

import (
	"errors"
	"hash/maphash"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// rescanEvery is how old the picture of the disk may get of a library that nobody watches.
const rescanEvery = time.Second

// The contents of small bundles stay in memory, so that a call keeps what it started with. What doesn't fit is copied to disk,
// where there is a folder for it; else files that have changed can't be opened any more.
const (
	keepBundle = 1 << 20
	keepAll    = 64 << 20
)

// Library is the [Catalog] of several sources; the first source that has a name wins. It notices changes on disk. By
// itself it looks at the files' sizes and times when it is asked, at most once a second; once [Library.Watched] it relies
// on whoever calls [Library.Settle].
type Library struct {
	sources []Source
	box     Toolbox
	log     *slog.Logger
	seed    maphash.Seed

	mu        sync.Mutex // held while scanning
	cache     map[Place]*cached
	published map[*Skill]*Skill // by the skill as it was loaded
	kept      int64             // bytes in memory
	spillTo   string            // the folder for copies of large bundles; "": there are none
	spills    int               // copies
	spilled   int64             // their bytes
	lastErr   string

	boxed   atomic.Uint64 // the box's version when the skills were composed
	watched atomic.Bool
	scanned atomic.Int64 // unix nanoseconds of the last scan
	index   atomic.Pointer[index]
	version atomic.Uint64 // of index
}

var _ Catalog = (*Library)(nil)

// Place is where a bundle is: a source by number, in their order, and a folder in it.
type Place struct {
	Source int
	Folder string
}

// Load reads every skill of the sources. A source whose folder is not there is empty; one that cannot be read is an error
// that names it. A skill that is broken is listed as Blocked. The host has no tools; log may be nil.
func Load(sources []Source, log *slog.Logger) (*Library, error) {
	return LoadWith(sources, NoTools, log)
}

// LoadWith is [Load] on a host with tools. Skills that declare what is not in the box are Blocked.
func LoadWith(sources []Source, box Toolbox, log *slog.Logger) (*Library, error) {
	return LoadSafe(sources, box, log, "")
}

// LoadSafe is [LoadWith] for a host that runs the skills: what does not fit into memory is copied to files in the folder dir,
// so that calls of large bundles keep what they started with, too. The files have no names and are gone with the process.
func LoadSafe(sources []Source, box Toolbox, log *slog.Logger, dir string) (*Library, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	l := &Library{sources: slices.Clone(sources), box: box, log: log, seed: maphash.MakeSeed(), cache: map[Place]*cached{}, spillTo: dir}
	l.index.Store(newIndex(nil))
	if err := l.Refresh(); err != nil {
		return nil, err
	}
	return l, nil
}

// Sources returns the sources, in order.
func (l *Library) Sources() []Source { return slices.Clone(l.sources) }

// List implements [Catalog].
func (l *Library) List() []*Skill {
	l.catchUp()
	return slices.Clone(l.index.Load().skills)
}

// Find implements [Catalog].
func (l *Library) Find(name string) (skill *Skill, suggestion string) {
	l.catchUp()
	return l.index.Load().find(name)
}

// Lookup is Find without a suggestion.
func (l *Library) Lookup(name string) *Skill {
	l.catchUp()
	return l.index.Load().lookup(name)
}

// Version changes whenever a skill may have.
func (l *Library) Version() uint64 {
	l.catchUp()
	return l.version.Load()
}

// Refresh looks at the disk now, and takes what is there as it is. After an error in one source its skills stay as they
// were.
func (l *Library) Refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.scan(0, nil)
	return err
}

// Watched says whether somebody calls [Library.Settle] whenever something may have changed. As long as that is so, List and
// Find never look at the disk themselves.
func (l *Library) Watched(on bool) { l.watched.Store(on) }

// Settle looks at bundles, at all of them when places is empty. A bundle that differs from what is known is read once it
// has stayed as it is for quiet, so that one that is being written is not read by half: until then it is returned as
// unsettled, and what was known of it stays.
func (l *Library) Settle(quiet time.Duration, places ...Place) (unsettled []Place, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.scan(quiet, places)
}

// catchUp makes sure that what is known is not too old. While one caller does, the others go on with what is known.
func (l *Library) catchUp() {
	if l.watched.Load() {
		if l.box.Version() != l.boxed.Load() && l.mu.TryLock() {
			defer l.mu.Unlock()
			l.publish()
		}
		return
	}
	if time.Since(time.Unix(0, l.scanned.Load())) < rescanEvery || !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	_, err := l.scan(0, nil)
	switch {
	case err == nil:
		l.lastErr = ""
	case err.Error() != l.lastErr: // once, not every second
		l.lastErr = err.Error()
		l.log.Warn("skills not read again", "error", err)
	}
}

// scan reads what has changed and publishes the skills again if anything has. The caller holds mu.
func (l *Library) scan(quiet time.Duration, places []Place) (unsettled []Place, err error) {
	s := &scan{Library: l, quiet: quiet, next: make(map[Place]*cached, len(l.cache))}
	var errs []error
	if len(places) == 0 {
		defer func() { l.scanned.Store(time.Now().UnixNano()) }()
		for i := range l.sources {
			errs = append(errs, s.whole(i))
		}
	} else {
		errs = append(errs, s.some(places))
	}
	l.cache = s.next
	if s.changed || l.box.Version() != l.boxed.Load() {
		l.publish()
	}
	return s.unsettled, errors.Join(errs...)
}

// publish puts what was read in front of the callers. A skill that did not change stays the same value. The caller holds
// mu.
func (l *Library) publish() {
	l.boxed.Store(l.box.Version())
	kept, origins := l.merge()
	composed := compose(kept, l.box)
	published := make(map[*Skill]*Skill, len(composed))
	for i, origin := range origins {
		if old := l.published[origin]; old != nil && old.equal(composed[i]) {
			composed[i] = old
		}
		published[origin] = composed[i]
	}
	l.published = published
	l.index.Store(newIndex(composed))
	l.version.Add(1)
}
