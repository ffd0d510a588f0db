package control

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Place is where a call stands among all calls: by its acceptance and, among those of one moment, by its id. It is the same as
// long as the call is known. The zero value is no call's.
type Place struct {
	At int64 // microseconds since the Unix epoch
	ID string
}

// Place returns where a call stands.
func (c *Call) Place() Place { return Place{c.Accepted.UnixMicro(), c.ID} }

// Compare orders places, the older first.
func (p Place) Compare(q Place) int { return cmp.Or(cmp.Compare(p.At, q.At), cmp.Compare(p.ID, q.ID)) }

// longestID is what the id of a call may have, in bytes.
const longestID = 64

// Cursor returns the place as a cursor.
func (p Place) Cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.At, 36) + "." + p.ID))
}

// PlaceOf reads a cursor, or fails with [ErrCursor].
func PlaceOf(cursor string) (Place, error) {
	if len(cursor) > 2*longestID {
		return Place{}, ErrCursor
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	at, id, ok := strings.Cut(string(raw), ".")
	n, bad := strconv.ParseInt(at, 36, 64)
	p := Place{n, id}
	if err != nil || bad != nil || !ok || id == "" || len(id) > longestID || p.Cursor() != cursor {
		return Place{}, ErrCursor
	}
	return p, nil
}

// Verdict is the word for how a call stands: [VerdictRunning], [VerdictSucceeded], [VerdictCanceled] or, where it failed, the code of
// its error.
func (c *Call) Verdict() string {
	switch {
	case !c.State.Terminal():
		return VerdictRunning
	case c.State == Succeeded:
		return VerdictSucceeded
	case c.State == Canceled:
		return VerdictCanceled
	}
	return string(c.Code)
}

// Check returns a [Fault] that names the field which is no good.
func (q *CallQuery) Check() error {
	switch {
	case q.Limit < 0 || q.Limit > MaxPage:
		return &Fault{fmt.Sprintf("limit: expected 1 to %d, got %d", MaxPage, q.Limit)}
	case !isVerdict(q.Verdict):
		return &Fault{fmt.Sprintf("verdict: expected %s, %s, %s, %s or the code of an error such as %s, got %.80q", VerdictRunning, VerdictSucceeded,
			VerdictFailed, VerdictCanceled, a2e.Timeout, q.Verdict)}
	case !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until):
		return &Fault{"since: expected a time before until"}
	}
	if q.Before != "" {
		if _, err := PlaceOf(q.Before); err != nil {
			return err
		}
	}
	return nil
}

func isVerdict(s string) bool {
	switch s {
	case "", VerdictRunning, VerdictSucceeded, VerdictFailed, VerdictCanceled:
		return true
	}
	return a2e.Code(s).Known()
}

// Matches reports whether a query means a call. The page that it asks for is no part of that.
func (q *CallQuery) Matches(c *Call) bool {
	return (q.Skill == "" || q.Skill == c.Skill) && (q.Principal == "" || q.Principal == c.Principal) &&
		(q.Agent == "" || q.Agent == c.Agent) && (q.Door == "" || q.Door == c.Door) && q.meant(c.Verdict()) &&
		within(c.Accepted, q.Since, q.Until)
}

func (q *CallQuery) meant(verdict string) bool {
	switch q.Verdict {
	case "", verdict:
		return true
	case VerdictFailed:
		return verdict != VerdictRunning && verdict != VerdictSucceeded && verdict != VerdictCanceled
	}
	return false
}

// within compares by the microsecond, which is what places are made of.
func within(t, since, until time.Time) bool {
	at := t.UnixMicro()
	return (since.IsZero() || at >= since.UnixMicro()) && (until.IsZero() || at < until.UnixMicro())
}

// Most returns how many calls a page may have.
func (q *CallQuery) Most() int { return cmp.Or(q.Limit, 50) }

// Check returns a [Fault] that names the field which is no good.
func (q *StatsQuery) Check() error {
	switch {
	case q.Buckets < 1 || q.Buckets > maxBuckets:
		return &Fault{fmt.Sprintf("buckets: expected 1 to %d, got %d", maxBuckets, q.Buckets)}
	case q.Since.IsZero() || !q.Since.Before(q.Until):
		return &Fault{"since: expected a time before until"}
	case q.Until.Sub(q.Since) > longestTime:
		return &Fault{"since: expected a time at most ten years before until"}
	}
	return nil
}

// Empty returns numbers of no calls.
func (q *StatsQuery) Empty() *Stats {
	s := &Stats{Buckets: make([]Bucket, q.Buckets), Codes: []CodeCount{}, Skills: []SkillStat{}}
	for i := range s.Buckets {
		s.Buckets[i] = Bucket{From: q.Since.Add(q.Until.Sub(q.Since) / time.Duration(q.Buckets) * time.Duration(i)), Codes: map[string]int{}}
	}
	return s
}

const (
	maxBuckets  = 200
	longestTime = 10 * 366 * 24 * time.Hour
)
