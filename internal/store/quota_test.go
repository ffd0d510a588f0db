package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

// pair is two journals of supervisors that share a server.
func pair(t *testing.T) [2]*Store {
	t.Helper()
	url := onlyPostgres(t)
	var stores [2]*Store
	for i := range stores {
		s, err := Open(t.Context(), Options{URL: url})
		must(t, err)
		must(t, s.Leases().Enroll(t.Context(), []string{"one", "two"}[i], "host"))
		t.Cleanup(func() { must(t, s.Close()) })
		stores[i] = s
	}
	return stores
}

// bounded is a call of one of them that counts.
func bounded(id, instance string, share control.Share) control.Record {
	r := taken(id, "r"+id)
	r.Instance, r.Share = instance, &share
	return r
}

// refusedAs says what a journal has against a call; "" for nothing.
func refusedAs(t *testing.T, s *Store, r control.Record) string {
	t.Helper()
	earlier, err := s.Accept(t.Context(), r, start.Add(-time.Hour))
	var refused *control.OverError
	switch {
	case errors.As(err, &refused) && refused.PerMinute:
		if refused.After <= 0 || refused.After > time.Minute {
			t.Errorf("room after %s", refused.After)
		}
		return "per minute"
	case errors.As(err, &refused):
		return "at once"
	case err != nil:
		t.Fatal(err)
	case earlier != nil:
		return "earlier " + earlier.ID
	}
	return ""
}

// The calls of a principal at once are those of all supervisors together.
func TestCallsAtOnceAreCountedTogether(t *testing.T) {
	s := pair(t)
	two := control.Share{InFlight: 2}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("the first", refusedAs(t, s[0], bounded("1", "one", two)), "")
	check("the second", refusedAs(t, s[1], bounded("2", "two", two)), "")
	third := bounded("3", "one", two)
	check("the third", refusedAs(t, s[0], third), "at once")
	if r := find(t, s[1], "3"); r.Answer != nil {
		t.Errorf("a call that was refused is not on record: %+v", r)
	}
	third.Again = true
	end(t, s[0], answered(third, "refused"))
	check("the second, sent again elsewhere", refusedAs(t, s[0], bounded("2", "one", two)), "earlier 2")
	nested := bounded("4", "one", two)
	nested.Share = nil
	check("one within another", refusedAs(t, s[0], nested), "")
	other := bounded("5", "one", two)
	other.Principal = "q"
	check("another principal's", refusedAs(t, s[0], other), "")
	end(t, s[1], answered(taken("2", "r2"), "x"))
	again := bounded("3b", "two", two)
	again.ReqID = "r3"
	check("after one has ended", refusedAs(t, s[1], again), "")
	check("and one more", refusedAs(t, s[1], bounded("6", "two", two)), "at once")
	testutil.Poll(t, 30*time.Second, func() bool {
		did, err := s[1].Leases().Declare(t.Context(), "one", time.Millisecond)
		must(t, err)
		return did
	})
	check("once the supervisor of the first was declared dead", refusedAs(t, s[1], bounded("7", "two", two)), "")
}

// So are those of a minute, whether they have ended or not.
func TestCallsAMinuteAreCountedTogether(t *testing.T) {
	s := pair(t)
	three := control.Share{PerMinute: 3}
	for i := range 3 {
		r := bounded(fmt.Sprint(i), "one", three)
		if got := refusedAs(t, s[i%2], r); got != "" {
			t.Errorf("%d: %s", i, got)
		}
		end(t, s[i%2], answered(r, "x"))
	}
	for _, store := range s {
		if got := refusedAs(t, store, bounded("x"+fmt.Sprint(store == s[0]), "one", three)); got != "per minute" {
			t.Errorf("the fourth: %q", got)
		}
	}
	var refused *control.OverError
	if _, err := s[0].Accept(t.Context(), bounded("y", "one", three), start); !errors.As(err, &refused) || refused.After < 30*time.Second {
		t.Errorf("%v", err)
	}
	if _, err := s[0].write.Exec(`UPDATE calls SET counted = counted - 61000000 WHERE id = '0' AND ended = 0`); err != nil { // it has ended: the answer stands
		t.Fatal(err)
	}
	open := bounded("z", "one", control.Share{PerMinute: 4})
	if got := refusedAs(t, s[0], open); got != "" {
		t.Errorf("with room for four: %q", got)
	}
	if _, err := s[0].write.Exec(`UPDATE calls SET counted = counted - 61000000 WHERE id = 'z'`); err != nil {
		t.Fatal(err)
	}
	if got := refusedAs(t, s[1], bounded("later", "two", control.Share{PerMinute: 4})); got != "" {
		t.Errorf("a minute later: %q", got)
	}
}

// However many ask at the same time, no more get in than may.
func TestNoMoreThanTheShareGetIn(t *testing.T) {
	s := pair(t)
	var in, out atomic.Int64
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			_, err := s[i%2].Accept(context.Background(), bounded(fmt.Sprint(i), "one", control.Share{InFlight: 7, PerMinute: 9}), start)
			var refused *control.OverError
			switch {
			case err == nil:
				in.Add(1)
			case errors.As(err, &refused):
				out.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if in.Load() != 7 || out.Load() != 33 {
		t.Errorf("%d got in, %d did not", in.Load(), out.Load())
	}
}

// A file is not asked: who shares one counts for itself.
func TestAFileCountsNoShares(t *testing.T) {
	onlySQLite(t)
	s := opened(t, Options{})
	for i := range 3 {
		if got := refusedAs(t, s, bounded(fmt.Sprint(i), "one", control.Share{InFlight: 1, PerMinute: 1})); got != "" {
			t.Errorf("%d: %s", i, got)
		}
	}
}

// However many calls are kept, those that count are found by indices that have few more than them.
func TestCallsThatCountAreFoundByIndices(t *testing.T) {
	s := pair(t)[0]
	if _, err := s.write.Exec(`SET enable_seqscan = off`); err != nil {
		t.Fatal(err)
	}
	rows, err := s.write.Query(`EXPLAIN `+countShare, "p", 4, 59, 1)
	must(t, err)
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var line string
		must(t, rows.Scan(&line))
		plan = append(plan, line)
	}
	must(t, rows.Err())
	if text := strings.Join(plan, "\n"); !strings.Contains(text, "Index Only Scan Backward using calls_counted") || !strings.Contains(text, "using calls_in_flight") {
		t.Error(text)
	}
}
