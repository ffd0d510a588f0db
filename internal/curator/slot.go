package curator

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// slot is one revision of a custom skill, which is read when it is first asked for.
type slot struct {
	label catalog.Label

	mu    sync.Mutex // held while reading
	part  atomic.Pointer[entry]
	made  atomic.Pointer[made]
	whole held // part and made

	glanced atomic.Pointer[glance]
	short   held // glanced
}

func newSlot(l catalog.Label) *slot {
	s := &slot{label: l}
	s.whole.empty = func() {
		s.part.Store(nil)
		s.made.Store(nil)
	}
	s.short.empty = func() { s.glanced.Store(nil) }
	return s
}

// forget is told of a slot that is in no picture any more.
func (c *Curator) forget(s *slot) {
	c.shelf.forget(&s.whole)
	c.glances.forget(&s.short)
}

// entry is a custom skill as it was read. It never changes.
type entry struct {
	record catalog.Record // without what its files contain
	files  []catalog.File // SKILL.md first
	part   *skills.Part
	bytes  int64
	told   int64 // bytes of it that lists tell
}

// made is a skill among others, as these were then.
type made struct {
	*entry
	skill          *skills.Skill
	shipped, tools uint64 // their versions
	pack           int64
}

// overhead is what a skill holds beside its files, in bytes, roughly.
const overhead = 8 << 10

// read makes an entry of what the store has.
func (c *Curator) read(owner catalog.Owner, r catalog.Record) *entry {
	files := maps.Clone(r.Content.Files)
	if files == nil {
		files = map[string]string{}
	}
	files[entryFile] = skillMD(r.Name, r.Content)
	part := skills.ReadPart(skills.Memory(files), r.Name, skills.Strict, skills.SourceUser)
	e := &entry{record: r, files: listing(files), part: part.Of(skills.Owner{Group: owner.Kind == catalog.KindGroup, Name: owner.Name})}
	e.record.Content.Files, e.told = nil, told(files, r.Content.Body)
	if code := codeFile(r.Content.Files); code != "" && !c.mayCode(owner) {
		e.part = e.part.Block(skills.Finding{
			Code: skills.CodeNoCode, Severity: skills.SeverityError, File: code,
			Message: "policy.custom.code of the configuration does not let this principal's skills carry code",
		})
	}
	e.bytes = overhead
	for name, content := range files {
		e.bytes += int64(len(name) + 2*len(content))
	}
	return e
}

// listing lists SKILL.md first, then the others by path.
func listing(files map[string]string) []catalog.File {
	list := []catalog.File{{Path: entryFile, Bytes: int64(len(files[entryFile]))}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != entryFile {
			list = append(list, catalog.File{Path: name, Bytes: int64(len(files[name]))})
		}
	}
	return list
}

// load returns what is in a slot, from the store where it is not in memory; nil if it is there no more.
func (c *Curator) load(ctx context.Context, p *pack, s *slot) (*entry, error) {
	if e := s.part.Load(); e != nil {
		return e, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.part.Load(); e != nil {
		return e, nil
	}
	r, err := c.store.CustomSkill(ctx, p.id, s.label.Name)
	switch {
	case errors.Is(err, catalog.ErrNone):
		return nil, nil
	case err != nil:
		return nil, err
	}
	e := c.read(p.owner, r)
	s.part.Store(e)
	c.shelf.filled(&s.whole, e.bytes)
	return e, nil
}

// make returns the skill in a slot as it is among the others now; nil if it is there no more. It keeps its value as long as
// it does not change.
func (c *Curator) make(ctx context.Context, p *pack, s *slot) (*made, error) {
	shipped, tools := c.shipped.Version(), c.tools.Version()
	old := s.made.Load()
	s.whole.use()
	if old != nil && (old.part.Alone() || old.shipped == shipped && old.tools == tools && old.pack == p.version) {
		return old, nil
	}
	e, err := c.load(ctx, p, s)
	if e == nil {
		return nil, err
	}
	m := &made{entry: e, skill: e.part.Skill(), shipped: shipped, tools: tools, pack: p.version}
	if !e.part.Alone() {
		others := finder{c, ctx, p, nil}
		if m.skill = e.part.Compose(c.tools, others.find); others.err != nil {
			return nil, others.err // what it is is not known now, and nothing else is to be remembered
		}
	}
	if old != nil && old.entry == e && reflect.DeepEqual(old.skill, m.skill) {
		m.skill = old.skill
	}
	if !s.made.CompareAndSwap(old, m) {
		if other := s.made.Load(); other != nil && other.entry == e && reflect.DeepEqual(other.skill, m.skill) {
			m.skill = other.skill
		}
	}
	return m, nil
}

// finder finds what a principal's skills may include or use: what is shipped, and then the principal's own. It lives as long as
// one skill is composed.
type finder struct {
	*Curator
	ctx  context.Context
	pack *pack
	err  error // why something is not known
}

func (f *finder) find(name string) *skills.Part {
	if s := f.shipped.Lookup(name); s != nil {
		return skills.WholePart(s)
	}
	s := f.pack.slot(name)
	if s == nil {
		return nil
	}
	e, err := f.load(f.ctx, f.pack, s)
	if err != nil {
		f.err = err
	}
	if e == nil {
		return nil
	}
	return e.part
}
