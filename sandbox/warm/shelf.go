package warm

import (
	"cmp"
	"slices"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// shelf holds the cells that wait under one key.
type shelf struct {
	key    string
	skill  string
	line   string // with another bundle or image in the same line, this shelf is outdated
	bundle string
	image  string
	again  func(time.Duration) (*sandbox.Spec, func(), error)
	memory int64

	demand   demand
	members  []*member // oldest first
	coming   int       // cells that are started, and not ready yet
	failures int       // since a call last got one of its cells
	retry    time.Time // not before, after a failure
}

func newShelf(spec *sandbox.Spec) *shelf {
	s := &shelf{key: spec.Key, skill: spec.Labels[sandbox.LabelSkill], image: spec.Image.ID, memory: memoryOf(spec)}
	s.line = cmp.Or(spec.Line, s.skill)
	for _, tree := range spec.Trees {
		s.bundle += tree.Digest
	}
	return s
}

func memoryOf(spec *sandbox.Spec) int64 {
	if r := spec.OCI.Linux.Resources; r != nil && r.Memory != nil && r.Memory.Limit != nil {
		return *r.Memory.Limit
	}
	return 0
}

// outdates reports whether s holds a newer content of what old holds.
func (s *shelf) outdates(old *shelf) bool {
	return s.line == old.line && (s.bundle != old.bundle || s.image != old.image)
}

// lacks reports whether a cell should be started. After a failure one at a time is tried.
func (s *shelf) lacks(now time.Time, idle time.Duration) bool {
	return len(s.members)+s.coming < s.demand.want(now, idle) && !now.Before(s.retry) && (s.failures == 0 || s.coming == 0)
}

// worth is how many recent calls there are for each of the shelf's cells, with so many more.
func (s *shelf) worth(now time.Time, more int) float64 {
	return float64(s.demand.recent(now)) / float64(max(1, len(s.members)+s.coming+more))
}

// remove takes a member off, and reports whether it was there.
func (s *shelf) remove(m *member) bool {
	i := slices.Index(s.members, m)
	if i < 0 {
		return false
	}
	s.members = slices.Delete(s.members, i, i+1)
	return true
}

// failed notes that a cell did not come up, or was of no use: the next try waits, twice as long each time, a minute at most.
// Several at once count as one.
func (s *shelf) failed(now time.Time) {
	if now.Before(s.retry) {
		return
	}
	s.failures = min(s.failures+1, 7)
	s.retry = now.Add(min(time.Second<<(s.failures-1), time.Minute))
}
