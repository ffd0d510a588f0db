package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// mostSkills is of how many skills there are numbers, those that are called most.
const mostSkills = 200

// Stats returns numbers of the calls that ended within a time. It is known to the second when a call ended, of older ones to the
// minute, and to the hour where that is days ago.
func (s *Store) Stats(ctx context.Context, whose control.Whose, q control.StatsQuery) (*control.Stats, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	if err := s.meter.readOn(ctx, s.read, s.now()); err != nil {
		return nil, err
	}
	return s.meter.count(whose, q), nil
}

// scale counts calls by how long they took.
type scale [steps]uint32

// tallied is a tally that is being made.
type tallied struct {
	control.Tally
	scale scale
}

func (t *tallied) add(k *mark, failed bool) {
	t.Calls += int(k.n)
	if failed {
		t.Failed += int(k.n)
	}
	t.scale[k.took] += k.n
}

// tally is t with its latencies.
func (t *tallied) tally() control.Tally {
	t.P50, t.P95, t.P99 = t.at(0.50), t.at(0.95), t.at(0.99)
	return t.Tally
}

// at is the latency that a share of the calls did not exceed, about.
func (t *tallied) at(share float64) time.Duration {
	rank := uint32(math.Ceil(share * float64(t.Calls)))
	for step, n := range t.scale {
		if n >= rank && n > 0 {
			return latency(step)
		}
		rank -= n
	}
	return 0
}

// counting is one answer of the meter in the making.
type counting struct {
	m            *meter
	since, until int64
	principal    uint32
	only         bool   // that principal's
	failed       []bool // by code: not a success, and not cancelled
	total        tallied
	slots        []tallied
	codes        [][]uint32 // by slot and code
	skills       []uint32   // calls by name
}

// count goes over the marks once for what is counted by time, and again for the skills that turned out to be called most.
func (m *meter) count(whose control.Whose, q control.StatsQuery) *control.Stats {
	c := counting{
		m: m, since: q.Since.UnixMicro(), until: q.Until.UnixMicro(), slots: make([]tallied, q.Buckets), codes: make([][]uint32, q.Buckets),
		skills: make([]uint32, len(m.names.texts)),
	}
	if p, only := whose.One(); only {
		n, known := m.names.numbers[p]
		if !known {
			n = math.MaxUint32 // nobody's
		}
		c.principal, c.only = n, true
	}
	for _, code := range m.codes.texts {
		c.failed = append(c.failed, code != verdictOK && code != control.VerdictCanceled)
	}
	for i := range m.marks {
		if k := &m.marks[i]; c.meant(k) {
			c.add(k)
		}
	}
	out := q.Empty()
	out.Total, out.Skills = c.total.tally(), c.mostCalled()
	c.byTime(out)
	return out
}

func (c *counting) meant(k *mark) bool {
	return k.at >= c.since && k.at < c.until && (!c.only || k.principal == c.principal)
}

func (c *counting) add(k *mark) {
	slot := (k.at - c.since) * int64(len(c.slots)) / (c.until - c.since)
	c.slots[slot].add(k, c.failed[k.code])
	c.total.add(k, c.failed[k.code])
	if c.codes[slot] == nil {
		c.codes[slot] = make([]uint32, len(c.failed))
	}
	c.codes[slot][k.code] += k.n
	c.skills[k.skill] += k.n
}

// byTime fills in the buckets, and the codes of all of them.
func (c *counting) byTime(out *control.Stats) {
	sums := make([]int, len(c.failed))
	for i := range c.slots {
		out.Buckets[i].Tally = c.slots[i].tally()
		for code, n := range c.codes[i] {
			if n > 0 {
				out.Buckets[i].Codes[c.m.codes.texts[code]] = int(n)
				sums[code] += int(n)
			}
		}
	}
	for code, n := range sums {
		if n > 0 {
			out.Codes = append(out.Codes, control.CodeCount{Code: c.m.codes.texts[code], N: n})
		}
	}
	slices.SortFunc(out.Codes, func(a, b control.CodeCount) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Code, b.Code)) })
}

// mostCalled returns the tallies of the skills that are called most.
func (c *counting) mostCalled() []control.SkillStat {
	var most []uint32
	for name, n := range c.skills {
		if n > 0 && c.m.names.texts[name] != "" {
			most = append(most, uint32(name))
		}
	}
	slices.SortFunc(most, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(c.skills[b], c.skills[a]), cmp.Compare(c.m.names.texts[a], c.m.names.texts[b]))
	})
	most = most[:min(len(most), mostSkills)]
	tallies, at := make([]tallied, len(most)), make([]*tallied, len(c.skills))
	for i, name := range most {
		at[name] = &tallies[i]
	}
	for i := range c.m.marks {
		if k := &c.m.marks[i]; at[k.skill] != nil && c.meant(k) {
			at[k.skill].add(k, c.failed[k.code])
		}
	}
	stats := []control.SkillStat{}
	for i, name := range most {
		stats = append(stats, control.SkillStat{Skill: c.m.names.texts[name], Tally: tallies[i].tally()})
	}
	return stats
}
