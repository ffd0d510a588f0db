package admission

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// counted are quotas with a clock that tests move.
type counted struct {
	*Quotas
	at time.Time
}

func count(q Quota) *counted {
	c := &counted{at: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	c.Quotas = NewQuotas(q, func() time.Time { return c.at })
	return c
}

func (c *counted) enter(t *testing.T, principal string) *Stay {
	t.Helper()
	stay, err := c.Enter(principal, false)
	if err != nil {
		t.Fatal(err)
	}
	return stay
}

// refused makes sure that a principal has used something up, and returns when to ask again.
func (c *counted) refused(t *testing.T, principal, what string) time.Duration {
	t.Helper()
	stay, err := c.Enter(principal, false)
	var over *OverError
	if !errors.As(err, &over) || over.What != what || stay != nil {
		t.Fatalf("%v, want %s", err, what)
	}
	return over.After
}

func TestCallsInFlight(t *testing.T) {
	c := count(Quota{InFlight: 2})
	first := c.enter(t, "p")
	c.enter(t, "p")
	if after := c.refused(t, "p", "2 calls in flight"); after != time.Second {
		t.Errorf("after %s", after)
	}
	c.enter(t, "other")
	if _, err := c.Enter("p", true); err != nil {
		t.Errorf("within a call: %v", err)
	}
	first.Leave(0, 0)
	first.Leave(0, 0) // does nothing
	c.enter(t, "p")
	c.refused(t, "p", "2 calls in flight")
	for range 5 {
		c.enter(t, "") // nobody has no quota
	}
}

func TestCallsAMinute(t *testing.T) {
	c := count(Quota{PerMinute: 3})
	for range 3 {
		c.enter(t, "p").Leave(0, 0)
		c.at = c.at.Add(10 * time.Second)
	}
	if after := c.refused(t, "p", "3 calls a minute"); after != 30*time.Second {
		t.Errorf("after %s", after)
	}
	c.at = c.at.Add(30*time.Second - 1)
	c.refused(t, "p", "3 calls a minute")
	c.at = c.at.Add(1)
	c.enter(t, "p")
	c.refused(t, "p", "3 calls a minute")
}

func TestADay(t *testing.T) {
	for what, q := range map[string]Quota{
		"1m40s of processor time a day":   {CPU: 100 * time.Second},
		"100 GiB-seconds of memory a day": {Memory: 100 << 30},
	} {
		c := count(q)
		c.enter(t, "p").Leave(60*time.Second, 60<<30)
		c.at = c.at.Add(time.Hour)
		last := c.enter(t, "p") // may go over: what it will use nobody knows
		last.Leave(60*time.Second, 60<<30)
		after := c.refused(t, "p", what)
		if after < 22*time.Hour || after > 23*time.Hour {
			t.Errorf("%s: after %s", what, after)
		}
		if _, err := c.Enter("p", true); err == nil {
			t.Errorf("%s: a call within a call was taken", what)
		}
		c.enter(t, "other")
		c.at = c.at.Add(after - time.Second)
		c.refused(t, "p", what)
		c.at = c.at.Add(time.Second)
		c.enter(t, "p")
	}
}

// Nothing is remembered of principals that used nothing for a day.
func TestPrincipalsAreForgotten(t *testing.T) {
	c := count(Quota{InFlight: 1, PerMinute: 5, CPU: time.Hour})
	stays := c.enter(t, "stays")
	for i := range 100 {
		c.enter(t, fmt.Sprint(i)).Leave(time.Second, 1)
	}
	c.at = c.at.Add(12 * time.Hour)
	c.enter(t, "x").Leave(0, 0)
	if n := len(c.spent); n != 102 {
		t.Errorf("after half a day %d", n)
	}
	c.at = c.at.Add(12*time.Hour + slice)
	c.enter(t, "y").Leave(0, 0)
	if n := len(c.spent); n != 2 {
		t.Errorf("after a day %d", n)
	}
	c.refused(t, "stays", "1 calls in flight")
	stays.Leave(0, 0)
}

func TestNoQuota(t *testing.T) {
	c := count(Quota{})
	for range 100 {
		c.enter(t, "p")
	}
	if len(c.spent) != 0 {
		t.Error("somebody was counted")
	}
}

// What a principal has used today is told to who keeps it, and counts again once it is recalled; what is over or was never
// used does not.
func TestADaysUseSurvivesARestart(t *testing.T) {
	type told struct {
		principal string
		slice     int64
		cpu       time.Duration
		memory    int64
	}
	limit := Quota{CPU: time.Minute, Memory: 100}
	first := count(limit)
	var kept []told
	first.Spend = func(p string, slice int64, cpu time.Duration, memory int64) {
		kept = append(kept, told{p, slice, cpu, memory})
	}
	first.enter(t, "p").Leave(40*time.Second, 0)
	first.at = first.at.Add(time.Hour)
	first.enter(t, "p").Leave(20*time.Second, 7)
	first.enter(t, "idle").Leave(0, 0)
	first.enter(t, "").Leave(time.Hour, 1)
	if len(kept) != 2 || kept[1].principal != "p" || kept[1].cpu != 20*time.Second || kept[1].memory != 7 {
		t.Fatalf("told %v", kept)
	}
	again := count(limit)
	again.at = first.at.Add(time.Hour)
	for _, k := range append(kept, told{"old", again.Since() - 1, time.Hour, 0}, told{"coming", again.Since() + slices, time.Hour, 0}, told{"", again.Since(), time.Hour, 0}) {
		again.Recall(k.principal, k.slice, k.cpu, k.memory)
	}
	if after := again.refused(t, "p", "1m0s of processor time a day"); after < 21*time.Hour || after > 23*time.Hour {
		t.Errorf("after %s", after)
	}
	again.enter(t, "old")
	again.enter(t, "coming")
	if len(again.spent) != 3 {
		t.Errorf("%d principals are known", len(again.spent))
	}
	none := count(Quota{InFlight: 1})
	none.Spend = func(string, int64, time.Duration, int64) { t.Error("nothing bounds a day") }
	none.enter(t, "p").Leave(time.Hour, 1)
}

// What others have used counts, and what was used here is not counted twice.
func TestWhatIsUsedElsewhere(t *testing.T) {
	c := count(Quota{CPU: 10 * time.Second})
	now := number(c.at)
	c.enter(t, "ann").Leave(4*time.Second, 0)
	c.Learn("ann", now, 4*time.Second, 0) // its own
	c.enter(t, "ann").Leave(0, 0)
	c.Learn("ann", now, 9*time.Second, 0)
	c.enter(t, "ann").Leave(0, 0)
	c.Learn("ann", now, 3*time.Second, 0) // an old look
	c.enter(t, "ann").Leave(2*time.Second, 0)
	c.refused(t, "ann", "10s of processor time a day")
	c.enter(t, "bob").Leave(0, 0)
}

// A call that turned out to be none does not count within its minute.
func TestACallThatWasNone(t *testing.T) {
	c := count(Quota{PerMinute: 2})
	first, second := c.enter(t, "p"), c.enter(t, "p")
	c.refused(t, "p", "2 calls a minute")
	second.Unmake()
	second.Unmake()
	second.Leave(0, 0)
	third := c.enter(t, "p")
	c.refused(t, "p", "2 calls a minute")
	first.Leave(0, 0)
	third.Leave(0, 0)
	(*Stay)(nil).Unmake()
}
