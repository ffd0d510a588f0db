package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// meter has the calls that have ended in memory, to count them: it reads on in the journal from where it stopped, whichever
// process wrote there, so that each call is read once. What is trimmed it forgets.
type meter struct {
	mu     sync.Mutex
	last   int64 // number of the last call that was read
	oldest int64 // acceptance of the oldest call that is kept
	marks  []mark
	full   int      // how many marks there may be before those that are alike are put together
	names  numbered // of principals and skills
	codes  numbered
}

// mark is calls that ended alike at about the same time.
type mark struct {
	at               int64 // the end, in microseconds since the Unix epoch
	n                uint32
	principal, skill uint32 // names
	code             uint16
	took             uint8 // step of the scale
}

const (
	leastMarks = 50_000
	mostMarks  = 1_000_000 // 24 MB
	fewRows    = 20_000    // that are read at once
)

// numbered are texts, each with a number.
type numbered struct {
	texts   []string
	numbers map[string]uint32
}

// mostNames bounds them: callers can type what they like. Those beyond have the number of no name.
const mostNames = 50_000

func (w *numbered) of(text string) uint32 {
	n, ok := w.numbers[text]
	if !ok && len(w.texts) >= mostNames && text != "" {
		return w.of("")
	}
	if !ok {
		if w.numbers == nil {
			w.numbers = map[string]uint32{}
		}
		n = uint32(len(w.texts))
		w.texts, w.numbers[text] = append(w.texts, text), n
	}
	return n
}

// readOn brings the meter up to date.
func (m *meter) readOn(ctx context.Context, db *sql.DB, now time.Time) error {
	if m.full == 0 {
		m.last, m.full = math.MinInt64, leastMarks
	}
	for more := true; more; {
		n, err := m.readSome(ctx, db)
		if err != nil {
			return err
		}
		if more = n == fewRows; len(m.marks) > m.full {
			m.merge(now)
		}
	}
	return m.forget(ctx, db)
}

func (m *meter) readSome(ctx context.Context, db *sql.DB) (n int, err error) {
	rows, err := db.QueryContext(ctx, `SELECT seq, accepted, ended, principal, skill, verdict FROM ended INDEXED BY ended_by_seq
		WHERE seq > ? ORDER BY seq LIMIT ?`, m.last, fewRows)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var seq, accepted, ended int64
		var principal, skill, code string
		if err := rows.Scan(&seq, &accepted, &ended, &principal, &skill, &code); err != nil {
			return n, err
		}
		if code == string(a2e.UnknownSkill) {
			skill = "" // what somebody typed is none
		}
		m.last = seq
		m.marks = append(m.marks, mark{
			at: ended, n: 1, principal: m.names.of(principal), skill: m.names.of(skill), code: uint16(m.codes.of(code)),
			took: stepOf(time.Duration(ended-accepted) * time.Microsecond),
		})
	}
	return n, rows.Err()
}

// forget drops what ended before the oldest call that is kept was accepted.
func (m *meter) forget(ctx context.Context, db *sql.DB) error {
	oldest := int64(math.MaxInt64)
	err := db.QueryRowContext(ctx, `SELECT accepted FROM ended ORDER BY accepted LIMIT 1`).Scan(&oldest)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if oldest != m.oldest {
		m.marks = slices.DeleteFunc(m.marks, func(k mark) bool { return k.at < oldest })
		m.oldest = oldest
	}
	return nil
}

// grain is how exactly it is known when a call ended, by how long ago that is, in microseconds.
func grain(age int64) int64 {
	switch {
	case age < time.Hour.Microseconds():
		return time.Second.Microseconds()
	case age < 2*24*time.Hour.Microseconds():
		return time.Minute.Microseconds()
	}
	return time.Hour.Microseconds()
}

// merge puts calls together that ended alike within a grain, and lets go of names that no call has any more. Where that is not
// enough, the oldest go.
func (m *meter) merge(now time.Time) {
	names := m.names
	m.names = numbered{}
	for i := range m.marks {
		k := &m.marks[i]
		k.at -= k.at % grain(now.UnixMicro()-k.at)
		k.principal, k.skill = m.names.of(names.texts[k.principal]), m.names.of(names.texts[k.skill])
	}
	slices.SortFunc(m.marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.skill, b.skill), cmp.Compare(a.principal, b.principal), cmp.Compare(a.code, b.code),
			cmp.Compare(a.took, b.took))
	})
	kept := m.marks[:0]
	for _, k := range m.marks {
		if n := len(kept); n > 0 && kept[n-1].like(k) {
			kept[n-1].n += k.n
			continue
		}
		kept = append(kept, k)
	}
	if over := len(kept) - mostMarks/2; over > 0 {
		kept = kept[over:]
	}
	m.marks = slices.Clone(kept)
	m.full = max(leastMarks, 2*len(kept))
}

func (k mark) like(other mark) bool {
	k.n = other.n
	return k == other
}

// The scale of latencies: its steps are a tenth apart, from the first one's upper bound to beyond a week.
const (
	firstStep = 100 * time.Microsecond
	steps     = 240
)

var logTenth = math.Log(1.1)

// stepOf returns the step that a latency belongs to.
func stepOf(took time.Duration) uint8 {
	if took <= firstStep {
		return 0
	}
	return uint8(min(steps-1, math.Ceil(math.Log(float64(took)/float64(firstStep))/logTenth)))
}

// latency is the middle of a step.
func latency(step int) time.Duration {
	return time.Duration(float64(firstStep) * math.Exp((float64(step)-0.5)*logTenth))
}
