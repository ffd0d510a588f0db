package admission

import (
	"fmt"
	"sync"
	"time"
)

// Quota is what one principal may have. A zero field bounds nothing.
type Quota struct {
	InFlight  int           // calls at once, those that wait among them
	PerMinute int           // calls within any minute
	CPU       time.Duration // of processors, within a day
	Memory    int64         // bytes times seconds, within a day
}

// OverError says which quota a principal has used up, and when to ask again.
type OverError struct {
	What  string        // "3 calls in flight", ...
	After time.Duration // at least a second
}

// Error names the quota.
func (e *OverError) Error() string { return fmt.Sprintf("the quota of %s is used up", e.What) }

// Quotas counts what principals use. It is safe for concurrent use.
type Quotas struct {
	quota Quota
	now   func() time.Time

	// Spend is told what a principal has used in a slice of the day, by the slice's number, so that somebody may keep it
	// for [Quotas.Recall]. It must return at once. Nil: it is known as long as this process lives. It is set before any call.
	Spend func(principal string, slice int64, cpu time.Duration, memory int64)

	mu     sync.Mutex
	spent  map[string]*spent
	pruned time.Time
}

// NewQuotas returns quotas of which nothing is used. Now may be nil.
func NewQuotas(q Quota, now func() time.Time) *Quotas {
	if now == nil {
		now = time.Now
	}
	return &Quotas{quota: q, now: now, spent: map[string]*spent{}}
}

// Slice is what a day is counted in. It ends with the slice that began one day ago.
const Slice = 15 * time.Minute

const (
	slice  = Slice
	slices = int64(24 * time.Hour / slice)

	again = time.Second // for what ends nobody knows when
)

// Since is the number of the oldest slice that counts.
func (q *Quotas) Since() int64 { return number(q.now()) - slices + 1 }

// Recall adds what a principal had used in a slice, as Spend was told it in an earlier life of this process, or in another.
func (q *Quotas) Recall(principal string, slice int64, cpu time.Duration, memory int64) {
	if !q.daily() || principal == "" || slice < q.Since() || slice > number(q.now()) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.of(principal).add(slice, cpu, memory)
}

// Learn is [Quotas.Recall] for what all processes together are known to have used: what was used here is in it already, or soon
// will be.
func (q *Quotas) Learn(principal string, slice int64, cpu time.Duration, memory int64) {
	if !q.daily() || principal == "" || slice < q.Since() || slice > number(q.now()) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.of(principal)
	var have use
	if u := s.day[slice%slices]; u.slice == slice {
		have = u
	}
	s.add(slice, cpu-have.cpu, memory-have.memory)
}

// daily reports whether anything is bounded by what a day has.
func (q *Quotas) daily() bool { return q.quota.CPU > 0 || q.quota.Memory > 0 }

// of is what a principal has used. The caller holds mu.
func (q *Quotas) of(principal string) *spent {
	s := q.spent[principal]
	if s == nil {
		s = &spent{}
		q.spent[principal] = s
	}
	return s
}

func (s *spent) add(slice int64, cpu time.Duration, memory int64) {
	u := &s.day[slice%slices]
	switch {
	case u.slice > slice:
		return // that slice is over, and its place is another's
	case u.slice != slice:
		*u = use{slice: slice}
	}
	u.cpu += max(0, cpu)
	u.memory += max(0, memory)
}

// spent is what one principal has used.
type spent struct {
	inFlight int
	began    []time.Time // calls of the last minute, at most Quota.PerMinute
	day      [slices]use // by the slice's number
}

// use is what was used in one slice.
type use struct {
	slice  int64 // since the epoch; another one's entry is empty
	cpu    time.Duration
	memory int64
}

// Enter counts a call in, or says with an [*OverError] what is used up. A call within a call is part of the one around it:
// it is bounded by what a day has alone. Nobody, the principal "", has no quota.
func (q *Quotas) Enter(principal string, nested bool) (*Stay, error) {
	if principal == "" || q.quota == (Quota{}) {
		return nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	q.prune(now)
	s := q.of(principal)
	if over := q.over(s, now, nested); over != nil {
		return nil, over
	}
	if !nested {
		s.inFlight++
		if q.quota.PerMinute > 0 {
			s.began = append(s.began, now)
		}
	}
	return &Stay{q: q, s: s, principal: principal, nested: nested, began: now}, nil
}

func (q *Quotas) over(s *spent, now time.Time, nested bool) error {
	for len(s.began) > 0 && now.Sub(s.began[0]) >= time.Minute {
		s.began = s.began[1:]
	}
	limit := q.quota
	cpu, memory := s.total(now)
	switch {
	case limit.CPU > 0 && cpu >= limit.CPU:
		after := s.until(now, func(u use) { cpu -= u.cpu }, func() bool { return cpu < limit.CPU })
		return &OverError{fmt.Sprintf("%s of processor time a day", limit.CPU), after}
	case limit.Memory > 0 && memory >= limit.Memory:
		after := s.until(now, func(u use) { memory -= u.memory }, func() bool { return memory < limit.Memory })
		return &OverError{fmt.Sprintf("%d GiB-seconds of memory a day", limit.Memory>>30), after}
	case nested:
		return nil
	case limit.InFlight > 0 && s.inFlight >= limit.InFlight:
		return limit.OverInFlight()
	case limit.PerMinute > 0 && len(s.began) >= limit.PerMinute:
		return limit.OverPerMinute(time.Minute - now.Sub(s.began[0]))
	}
	return nil
}

// OverInFlight says that a principal has all the calls that it may have at once.
func (q Quota) OverInFlight() *OverError {
	return &OverError{fmt.Sprintf("%d calls in flight", q.InFlight), again}
}

// OverPerMinute says that a principal has had all its calls of a minute, and may have another one after a while.
func (q Quota) OverPerMinute(after time.Duration) *OverError {
	return &OverError{fmt.Sprintf("%d calls a minute", q.PerMinute), max(again, after)}
}

// total is what was used within the last day.
func (s *spent) total(now time.Time) (cpu time.Duration, memory int64) {
	at := number(now)
	for _, u := range s.day {
		if u.slice > at-slices {
			cpu, memory = cpu+u.cpu, memory+u.memory
		}
	}
	return cpu, memory
}

// until is how long it takes until enough slices have ended a day ago.
func (s *spent) until(now time.Time, drop func(use), enough func() bool) time.Duration {
	at := number(now)
	for n := at - slices + 1; n <= at; n++ {
		if u := s.day[n%slices]; u.slice == n {
			drop(u)
		}
		if enough() {
			return max(again, time.Unix(0, (n+slices)*int64(slice)).Sub(now))
		}
	}
	return 24 * time.Hour
}

func number(t time.Time) int64 { return t.UnixNano() / int64(slice) }

// prune forgets principals that used nothing for a day, now and then.
func (q *Quotas) prune(now time.Time) {
	if now.Sub(q.pruned) < slice {
		return
	}
	q.pruned = now
	for p, s := range q.spent {
		cpu, memory := s.total(now)
		if s.inFlight == 0 && cpu == 0 && memory == 0 && (len(s.began) == 0 || now.Sub(s.began[len(s.began)-1]) >= time.Minute) {
			delete(q.spent, p)
		}
	}
}

// Stay is a call that was counted in. A nil one is that of a principal without a quota.
type Stay struct {
	q         *Quotas
	s         *spent
	principal string
	nested    bool
	began     time.Time
	once      sync.Once
}

// Unmake takes back that the call began within the last minute: it was none after all. [Stay.Leave] is to be called all the same.
func (t *Stay) Unmake() {
	if t == nil || t.nested {
		return
	}
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	for i, at := range t.s.began {
		if at.Equal(t.began) {
			t.s.began, t.began = append(t.s.began[:i], t.s.began[i+1:]...), time.Time{}
			return
		}
	}
}

// Leave counts the call out, and in what it used: processor time, and bytes of memory times seconds. Only the first call does
// anything.
func (t *Stay) Leave(cpu time.Duration, memory int64) {
	if t == nil {
		return
	}
	t.once.Do(func() {
		at := number(t.q.now())
		t.q.mu.Lock()
		if !t.nested {
			t.s.inFlight--
		}
		t.s.add(at, cpu, memory)
		t.q.mu.Unlock()
		if t.q.Spend != nil && t.q.daily() && (cpu > 0 || memory > 0) {
			t.q.Spend(t.principal, at, max(0, cpu), max(0, memory))
		}
	})
}
