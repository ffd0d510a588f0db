package skills

import (
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"
)

// cached is a bundle as it was read last; without a skill it was seen and not read yet.
type cached struct {
	*loaded
	sum     uint64
	settled bool // its files are old enough for their times to tell a change

	differs uint64 // another sum that was seen since; 0: none
	since   time.Time
}

// scan is one look at the disk. The caller holds the library's lock.
type scan struct {
	*Library
	quiet     time.Duration
	next      map[Place]*cached
	changed   bool
	unsettled []Place
}

// whole enters a source's bundles into next, or those that were known when it can't be read.
func (s *scan) whole(source int) error {
	src := s.sources[source]
	fsys, done, err := src.open()
	var folders []string
	if err == nil && fsys != nil {
		defer done()
		folders, err = src.folders(fsys)
	}
	if err != nil {
		for at, c := range s.cache {
			if at.Source == source {
				s.next[at] = c
			}
		}
		return err
	}
	for _, folder := range folders {
		s.enter(Place{source, folder}, src, fsys)
	}
	for at, c := range s.cache {
		if at.Source == source && s.next[at] == nil {
			s.drop(c)
		}
	}
	return nil
}

// some looks at the places alone, and takes the rest as it is known.
func (s *scan) some(places []Place) error {
	for at, c := range s.cache {
		s.next[at] = c
	}
	var first error
	for i := range s.sources {
		if err := s.someOf(i, places); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (s *scan) someOf(source int, places []Place) error {
	if !slices.ContainsFunc(places, func(at Place) bool { return at.Source == source }) {
		return nil
	}
	src := s.sources[source]
	fsys, done, err := src.open()
	if err != nil {
		return err
	}
	if fsys != nil {
		defer done()
	}
	for _, at := range places {
		if at.Source != source {
			continue
		}
		if fsys != nil && isBundle(fsys, at.Folder) {
			s.enter(at, src, fsys)
			continue
		}
		s.drop(s.next[at])
		delete(s.next, at)
	}
	return nil
}

func (s *scan) drop(c *cached) {
	if c != nil && c.loaded != nil {
		s.changed = true
		s.kept -= keptBytes(c.skill)
		s.unspill(c.skill)
	}
}

// enter looks at one bundle, and reads it if it has changed and is quiet.
func (s *scan) enter(at Place, src Source, fsys fs.FS) {
	began := time.Now()
	sum, newest := signature(s.seed, fsys, at.Folder)
	old := s.cache[at]
	if old == nil {
		old = &cached{}
	}
	s.next[at] = old
	if old.loaded != nil && old.sum == sum && old.settled {
		old.differs = 0
		return
	}
	if s.quiet > 0 && (old.loaded == nil || old.sum != sum) && !old.quiet(sum, began, s.quiet) {
		s.unsettled = append(s.unsettled, at)
		return
	}
	ld, now, newer := s.read(at, src, fsys, sum)
	switch {
	case now == sum:
	case s.quiet > 0:
		old.quiet(now, time.Now(), s.quiet)
		s.unsettled = append(s.unsettled, at)
		return
	default:
		sum, newest = now, newer
	}
	ld.skill.Source = src.Label
	ld.skill.Path = strings.TrimSuffix(src.Path, "/") + "/" + clip(at.Folder, 200)
	s.replace(at, old, ld, sum, began.Sub(newest).Abs() > raceWindow)
}

// rereads is how often a bundle is read once more because it changed meanwhile, where nobody waits for it to be quiet.
const rereads = 3

// read reads a bundle, and returns the signature of what was read. Where nobody waits, one that changes all the time may be a
// mixture: its signature is one that it no longer has, so that it is read again at the next look.
func (s *scan) read(at Place, src Source, fsys fs.FS, sum uint64) (ld *loaded, of uint64, newest time.Time) {
	room := max(0, min(keepBundle, keepAll-s.kept))
	if src.FS != nil {
		room = 0 // it is in memory already
	}
	sub, _ := fs.Sub(src.fsys(), at.Folder) // it only refuses invalid paths, and folders names none
	for tries := 1; ; tries++ {
		ld = load(sub, at.Folder, reading{profile: src.Profile, keep: room})
		var after uint64
		after, newest = signature(s.seed, fsys, at.Folder)
		switch {
		case after == sum || s.quiet > 0:
			return ld, after, newest
		case tries == rereads:
			return ld, sum, newest
		}
		sum = after
	}
}

// quiet reports whether the files have been as they are now for a while.
func (c *cached) quiet(sum uint64, now time.Time, while time.Duration) bool {
	if c.differs != sum || c.since.IsZero() {
		c.differs, c.since = sum, now
		return false
	}
	return now.Sub(c.since) >= while
}

// replace keeps the skill that is known if it is the same again.
func (s *scan) replace(at Place, old *cached, ld *loaded, sum uint64, settled bool) {
	if old.loaded != nil && old.skill.same(ld.skill) {
		s.next[at] = &cached{loaded: old.loaded, sum: sum, settled: settled}
		return
	}
	s.drop(old)
	s.kept += keptBytes(ld.skill)
	if s.sources[at.Source].FS == nil {
		s.spill(ld.skill)
	}
	s.next[at] = &cached{loaded: ld, sum: sum, settled: settled}
	s.changed = true
}

// same reports whether a bundle was read with the same outcome: the digest covers its files, and findings what isn't one.
func (s *Skill) same(other *Skill) bool {
	return s.Bundle.Digest != "" && s.Bundle.Digest == other.Bundle.Digest && slices.Equal(s.Findings, other.Findings)
}

func (s *Skill) equal(other *Skill) bool { return s == other || reflect.DeepEqual(s, other) }

func keptBytes(s *Skill) int64 {
	if v, ok := s.Bundle.FS.(*view); ok && v.kept {
		return s.Bundle.Bytes
	}
	return 0
}

// merge applies the sources' order. Of each skill it also returns what was loaded.
func (l *Library) merge() (kept []*loaded, origins []*Skill) {
	places := make([]Place, 0, len(l.cache))
	for at, c := range l.cache {
		if c.loaded != nil {
			places = append(places, at)
		}
	}
	sort.Slice(places, func(i, j int) bool {
		if places[i].Source != places[j].Source {
			return places[i].Source < places[j].Source
		}
		return places[i].Folder < places[j].Folder
	})
	winner := map[string]string{} // name → source label
	for _, at := range places {
		ld := l.cache[at].loaded
		label, taken := winner[ld.skill.Name]
		if taken && label != ld.skill.Source {
			l.log.Debug("skill shadowed", "skill", ld.skill.Name, "path", ld.skill.Path, "by", label)
			continue
		}
		origins = append(origins, ld.skill)
		if taken {
			ld = ld.block(Finding{
				Code: CodeNameConflict, Severity: SeverityError, File: fileSkill, Path: scanPath(at.Folder),
				Message: fmt.Sprintf("a skill named %q is there twice in the source %q; this copy (%s) is not used",
					ld.skill.Name, label, ld.skill.Path),
			})
		}
		winner[ld.skill.Name] = ld.skill.Source
		kept = append(kept, ld)
	}
	return kept, origins
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
