package store

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/control"
)

func statsOf(t testing.TB, s *Store, whose control.Whose, q control.StatsQuery) *control.Stats {
	t.Helper()
	got, err := s.Stats(context.Background(), whose, q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// ran journals a call that took so long.
func (c *clock) ran(t testing.TB, s *Store, id, principal, skill, verdict string, took time.Duration) {
	t.Helper()
	r := taken(id, id)
	r.Principal, r.Skill, r.Accepted = principal, skill, c.now().Add(-took)
	accept(t, s, r)
	r = stands(r, verdict)
	r.Ended = c.now()
	end(t, s, r)
}

func TestStats(t *testing.T) {
	var c clock
	path := filepath.Join(t.TempDir(), "hotcell.db")
	s, other := opened(t, Options{Path: path, Now: c.now}), opened(t, Options{Path: path, Now: c.now})
	q := control.StatsQuery{Since: start, Until: start.Add(4 * time.Minute), Buckets: 4}
	if got, want := statsOf(t, s, control.Whose{}, q), q.Empty(); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	c.ran(t, s, "c1", "ann", "echo", "succeeded", time.Second)
	c.add(time.Minute)
	c.ran(t, s, "c2", "ann", "echo", "timeout", 10*time.Second)
	c.ran(t, other, "c3", "bob", "secret", "canceled", time.Millisecond)
	c.ran(t, s, "c4", "bob", "no-such-skill", "unknown_skill", 0)
	accept(t, s, taken("c5", "r5")) // in flight
	c.add(3 * time.Minute)
	c.ran(t, s, "late", "ann", "echo", "succeeded", time.Second)

	got := statsOf(t, s, control.Whose{}, q)
	if got.Total.Calls != 4 || got.Total.Failed != 2 {
		t.Errorf("total %+v", got.Total)
	}
	if want := []control.CodeCount{{Code: "canceled", N: 1}, {Code: "ok", N: 1}, {Code: "timeout", N: 1}, {Code: "unknown_skill", N: 1}}; !cmp.Equal(got.Codes, want) {
		t.Error(cmp.Diff(want, got.Codes))
	}
	if want := map[string]int{"canceled": 1, "timeout": 1, "unknown_skill": 1}; !cmp.Equal(got.Buckets[1].Codes, want) || got.Buckets[0].Calls != 1 || got.Buckets[2].Calls != 0 {
		t.Errorf("buckets %+v", got.Buckets)
	}
	for i, b := range got.Buckets {
		if !b.From.Equal(start.Add(time.Duration(i) * time.Minute)) {
			t.Errorf("bucket %d begins at %s", i, b.From)
		}
	}
	if len(got.Skills) != 2 || got.Skills[0].Skill != "echo" || got.Skills[0].Calls != 2 || got.Skills[0].Failed != 1 || got.Skills[1].Skill != "secret" {
		t.Errorf("skills %+v", got.Skills)
	}
	near(t, "p50", got.Skills[0].P50, time.Second)
	near(t, "p99", got.Skills[0].P99, 10*time.Second)

	own := statsOf(t, s, control.Only("ann"), q)
	if own.Total.Calls != 2 || len(own.Skills) != 1 || len(own.Codes) != 2 {
		t.Errorf("of one principal: %+v", own)
	}
	if nobody := statsOf(t, s, control.Only("eve"), q); !cmp.Equal(nobody, q.Empty()) {
		t.Errorf("of a principal without calls: %+v", nobody)
	}
	if elsewhere := statsOf(t, other, control.Whose{}, q); !cmp.Equal(elsewhere, got) {
		t.Errorf("another process counts otherwise: %s", cmp.Diff(got, elsewhere))
	}
}

// near: latencies are known to a tenth.
func near(t testing.TB, what string, got, want time.Duration) {
	t.Helper()
	if got < want*10/11 || got > want*11/10 {
		t.Errorf("%s is %s, want about %s", what, got, want)
	}
}

// Any latency is within a tenth of its step, and steps are in order.
func TestSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := time.Duration(rapid.Int64Range(int64(firstStep), int64(7*24*time.Hour)).Draw(t, "took"))
		if got := latency(int(stepOf(took))); got < took*10/11 || got > took*11/10 {
			t.Errorf("%s is in the step of %s", took, got)
		}
		if longer := stepOf(took + 1); longer < stepOf(took) {
			t.Errorf("%s comes before %s", took+1, took)
		}
	})
	for _, took := range []time.Duration{-time.Hour, 0, 1 << 62} {
		_ = latency(int(stepOf(took)))
	}
}

// What is put together counts as before, but for when exactly it ended, and there is no more of it than there may be.
func TestMerge(t *testing.T) {
	var m meter
	now := start.Add(100 * 24 * time.Hour)
	for i := range 10_000 {
		at := start.Add(time.Duration(i) * time.Minute)
		m.marks = append(m.marks, mark{at: at.UnixMicro(), n: 1, skill: m.names.of(fmt.Sprint("skill", i%2)), code: uint16(m.codes.of("ok")), took: uint8(i % 2)})
	}
	m.names.of("nobody's")
	q := control.StatsQuery{Since: start.Add(-time.Hour), Until: now, Buckets: 1}
	before := m.count(control.Whose{}, q)
	m.merge(now)
	if after := m.count(control.Whose{}, q); !cmp.Equal(after, before) {
		t.Error(cmp.Diff(before, after))
	}
	if hours := 10_000/60 + 1; len(m.marks) > 2*hours || len(m.names.texts) != 2+1 && len(m.names.texts) != 2 {
		t.Errorf("%d marks and the names %q are left", len(m.marks), m.names.texts)
	}
}

// Stats forget what is trimmed, and searches do.
func TestTrimmedCallsAreNotCounted(t *testing.T) {
	var c clock
	s := opened(t, Options{Now: c.now, Keep: Keep{Calls: 10 * time.Hour, Events: time.Hour}})
	c.add(time.Hour)
	c.ran(t, s, "old", "p", "gone", "timeout", time.Second)
	c.add(time.Hour)
	c.ran(t, s, "young", "p", "stays", "timeout", time.Second)
	q := control.StatsQuery{Since: start, Until: start.Add(10 * time.Hour), Buckets: 1}
	if got := statsOf(t, s, control.Whose{}, q); got.Total.Calls != 2 {
		t.Fatalf("before: %+v", got.Total)
	}
	c.add(9*time.Hour + time.Minute)
	trim(t, s)
	if got := statsOf(t, s, control.Whose{}, q); got.Total.Calls != 1 || len(got.Skills) != 1 || got.Skills[0].Skill != "stays" {
		t.Errorf("after: %+v", got)
	}
	var rows int
	if err := s.read.QueryRow(`SELECT count(*) FROM ended`).Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d rows, %v", rows, err)
	}
	for _, q := range []control.CallQuery{{}, {Skill: "gone"}, {Verdict: "failed"}, {Principal: "p"}} {
		calls, err := s.Search(t.Context(), control.Whose{}, q)
		for _, call := range calls {
			if call.ID == "old" || err != nil {
				t.Errorf("%+v: %v, %v", q, ids(calls), err)
			}
		}
	}
	c.add(10 * time.Hour)
	trim(t, s)
	if got := statsOf(t, s, control.Whose{}, q); !cmp.Equal(got, q.Empty()) {
		t.Errorf("in the end: %+v", got)
	}
}

func TestStatsThatAreRefused(t *testing.T) {
	s := opened(t, Options{})
	for want, q := range map[string]control.StatsQuery{
		"buckets: expected 1 to 200, got 0":                     {Since: start, Until: start.Add(1)},
		"buckets: expected 1 to 200, got 201":                   {Since: start, Until: start.Add(1), Buckets: 201},
		"since: expected a time before until":                   {Since: start, Until: start, Buckets: 1},
		"since: expected a time at most ten years before until": {Since: start.AddDate(-11, 0, 0), Until: start, Buckets: 1},
	} {
		if _, err := s.Stats(t.Context(), control.Whose{}, q); err == nil || err.Error() != want {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// Names that callers make up take only so much room.
func TestNumberedIsBounded(t *testing.T) {
	var w numbered
	for n := range mostNames + 10 {
		w.of(strconv.Itoa(n + 1))
	}
	if n := w.of("one more"); w.texts[n] != "" || w.texts[w.of("1")] != "1" || len(w.texts) != mostNames+1 {
		t.Errorf("%d names", len(w.texts))
	}
}
