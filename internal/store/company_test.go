package store

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A request that is in flight, or whose call ended within the window, is never said to be a first one, whoever made it.
func TestCompanyKnowsItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const replay = 10 * time.Minute
		now := time.Now()
		c := newCompany(replay)
		c.clock = func() time.Time { return now }
		type call struct {
			key      requestKey
			own      bool
			inFlight bool
			ended    time.Time
		}
		var calls []*call
		if rapid.Bool().Draw(t, "new journal") {
			c.alone()
		}
		key := func() requestKey {
			return requestKey{reqID: fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "request"))}
		}
		repeated := func(k requestKey, since time.Time) bool {
			for _, one := range calls {
				if one.key == k && (one.inFlight || one.ended.After(since)) {
					return true
				}
			}
			return false
		}
		t.Repeat(map[string]func(*rapid.T){
			"accept": func(t *rapid.T) {
				k := key()
				accepted := now.Add(-time.Duration(rapid.IntRange(0, 90).Draw(t, "late")) * time.Second)
				since := accepted.Add(-replay)
				first, again := c.first(k, accepted, since), repeated(k, since)
				if first && again {
					t.Fatalf("request %v passes for a first one", k)
				}
				if !again {
					calls = append(calls, &call{key: k, own: true, inFlight: true})
					c.accepted(fmt.Sprint(len(calls)-1), k)
				}
			},
			"other": func(t *rapid.T) {
				if k := key(); !repeated(k, now.Add(-replay)) {
					c.came()
					calls = append(calls, &call{key: k, inFlight: true})
				}
			},
			"end": func(t *rapid.T) {
				for i, one := range calls {
					if one.inFlight && rapid.Bool().Draw(t, "ends") {
						one.inFlight, one.ended = false, now
						c.ended(fmt.Sprint(i))
					}
				}
			},
			"look": func(t *rapid.T) {
				for _, one := range calls {
					if one.inFlight && !one.own {
						return
					}
				}
				if c.since.IsZero() {
					c.since = now
				}
			},
			"pass": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 900).Draw(t, "seconds")) * time.Second)
			},
		})
	})
}

// Nothing is said to be a first request while it is not known for long enough that nobody else has calls.
func TestCompanyIsCareful(t *testing.T) {
	now := time.Now()
	c := newCompany(time.Minute)
	c.clock = func() time.Time { return now }
	first := func() bool { return c.first(requestKey{reqID: "r"}, now, now.Add(-time.Minute)) }
	if first() {
		t.Error("at its beginning")
	}
	c.alone()
	if !first() {
		t.Error("a new journal has none")
	}
	if c.first(requestKey{}, now, now.Add(-time.Hour)) || c.first(requestKey{}, now.Add(-time.Hour), now.Add(-time.Hour)) || c.first(requestKey{}, now.Add(time.Hour), now.Add(time.Hour)) {
		t.Error("of other times")
	}
	c.came()
	if first() {
		t.Error("somebody came")
	}
}

// What is remembered is bounded, and what is forgotten is asked for.
func TestCompanyForgets(t *testing.T) {
	c := newCompany(time.Minute)
	c.alone()
	for i := range mostKept + 10 {
		id := fmt.Sprint(i)
		c.accepted(id, requestKey{reqID: id})
		c.ended(id)
	}
	if len(c.recent) > mostKept || len(c.flying)+len(c.sent) > 0 {
		t.Errorf("%d are kept", len(c.recent))
	}
	if now := time.Now(); c.first(requestKey{reqID: "0"}, now, now.Add(-time.Minute)) {
		t.Error("what was forgotten passes for a first one")
	}
}
