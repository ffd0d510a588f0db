package skills

import (
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// rescanEvery is how old a library's picture of the disk may get.
const rescanEvery = time.Second

// Library is the [Catalog] of several sources; the first source that has a name wins. It notices changes on disk: at most
// once a second List and Find look at the files' sizes and times, and read again what has changed.
type Library struct {
	sources []Source
	box     Toolbox
	log     *slog.Logger
	seed    maphash.Seed

	mu      sync.Mutex // held while scanning
	cache   map[place]*cached
	boxed   uint64 // the box's version when the skills were composed
	lastErr string

	scanned atomic.Int64 // unix nanoseconds of the last scan
	index   atomic.Pointer[index]
}

var _ Catalog = (*Library)(nil)

// place is where a bundle is: a source by number and a folder in it.
type place struct {
	source int
	folder string
}

// cached is a bundle as it was read last.
type cached struct {
	*loaded
	sum     uint64
	settled bool // its files are old enough for their times to tell a change
}

// Load reads every skill of the sources. A source whose folder is not there is empty; one that cannot be read is an error
// that names it. A skill that is broken is listed as Blocked. The host has no tools; log may be nil.
func Load(sources []Source, log *slog.Logger) (*Library, error) {
	return LoadWith(sources, NoTools, log)
}

// LoadWith is [Load] on a host with tools. Skills that declare what is not in the box are Blocked.
func LoadWith(sources []Source, box Toolbox, log *slog.Logger) (*Library, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	l := &Library{sources: slices.Clone(sources), box: box, log: log, seed: maphash.MakeSeed(), cache: map[place]*cached{}}
	l.index.Store(newIndex(nil))
	if err := l.Refresh(); err != nil {
		return nil, err
	}
	return l, nil
}

// List implements [Catalog].
func (l *Library) List() []*Skill {
	l.rescan()
	return slices.Clone(l.index.Load().skills)
}

// Find implements [Catalog].
func (l *Library) Find(name string) (skill *Skill, suggestion string) {
	l.rescan()
	return l.index.Load().find(name)
}

// Refresh looks at the disk now. After an error the skills stay as they were.
func (l *Library) Refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.scan()
}

// rescan looks at the disk if the last look is too long ago. While one caller does, the others go on with what is known.
func (l *Library) rescan() {
	if time.Since(time.Unix(0, l.scanned.Load())) < rescanEvery || !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	err := l.scan()
	switch {
	case err == nil:
		l.lastErr = ""
	case err.Error() != l.lastErr: // once, not every second
		l.lastErr = err.Error()
		l.log.Warn("skills not read again", "error", err)
	}
}

// scan reads what has changed and replaces the index if anything has. The caller holds mu.
func (l *Library) scan() error {
	defer func() { l.scanned.Store(time.Now().UnixNano()) }()
	next := make(map[place]*cached, len(l.cache))
	changed := false
	for i, src := range l.sources {
		fresh, err := l.scanSource(i, src, next)
		if err != nil {
			return err
		}
		changed = changed || fresh
	}
	boxed := l.box.Version()
	changed = changed || len(next) != len(l.cache) || boxed != l.boxed
	l.cache, l.boxed = next, boxed
	if changed {
		l.index.Store(newIndex(l.merge()))
	}
	return nil
}

// scanSource enters a source's bundles into next.
func (l *Library) scanSource(i int, src Source, next map[place]*cached) (changed bool, err error) {
	fsys, done, err := src.open()
	if err != nil || fsys == nil {
		return false, err
	}
	defer done()
	folders, err := src.folders(fsys)
	if err != nil {
		return false, err
	}
	for _, folder := range folders {
		at := place{source: i, folder: folder}
		c, fresh := l.look(at, src, fsys)
		next[at] = c
		changed = changed || fresh
	}
	return changed, nil
}

// look returns a bundle from the cache or reads it.
func (l *Library) look(at place, src Source, fsys fs.FS) (c *cached, fresh bool) {
	began := time.Now()
	sum, newest := signature(l.seed, fsys, at.folder)
	if old := l.cache[at]; old != nil && old.sum == sum && old.settled {
		return old, false
	}
	sub, _ := fs.Sub(src.fsys(), at.folder) // it only refuses invalid paths, and folders names none
	ld := load(sub, at.folder)
	ld.skill.Source = src.Label
	ld.skill.Path = strings.TrimSuffix(src.Path, "/") + "/" + clip(at.folder, 200)
	return &cached{loaded: ld, sum: sum, settled: began.Sub(newest).Abs() > raceWindow}, true
}

// merge applies the sources' order and what skills say of each other.
func (l *Library) merge() []*Skill {
	places := make([]place, 0, len(l.cache))
	for at := range l.cache {
		places = append(places, at)
	}
	sort.Slice(places, func(i, j int) bool {
		if places[i].source != places[j].source {
			return places[i].source < places[j].source
		}
		return places[i].folder < places[j].folder
	})
	winner := map[string]string{} // name → source label
	var kept []*loaded
	for _, at := range places {
		ld := l.cache[at].loaded
		label, taken := winner[ld.skill.Name]
		switch {
		case !taken:
			winner[ld.skill.Name] = ld.skill.Source
			kept = append(kept, ld)
		case label == ld.skill.Source:
			kept = append(kept, ld.block(Finding{
				Code: CodeNameConflict, Severity: SeverityError, File: fileSkill, Path: "name",
				Message: fmt.Sprintf("a skill named %q is there twice in the source %q; this copy (%s) is not used",
					ld.skill.Name, label, ld.skill.Path),
			}))
		default:
			l.log.Debug("skill shadowed", "skill", ld.skill.Name, "path", ld.skill.Path, "by", label)
		}
	}
	return compose(kept, l.box)
}

// block returns a copy that is Blocked; the original stays, since it may be fine again after the next scan.
func (ld *loaded) block(f Finding) *loaded {
	sk := *ld.skill
	sk.Findings = append(slices.Clone(sk.Findings), f)
	if sk.Status == Published {
		sk.Status, sk.BlockedWhy = Blocked, blockedWhy(&f)
	}
	blocked := *ld
	blocked.skill = &sk
	return &blocked
}
