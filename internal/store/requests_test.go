package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/control"
)

func requestKept(t *testing.T, s *Store, id string) string {
	t.Helper()
	raw, err := s.Request(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Requests are kept as long as events are, and no longer than their call.
func TestRequests(t *testing.T) {
	var c clock
	s := opened(t, Options{Now: c.now, Keep: Keep{Calls: 10 * time.Hour, Events: 5 * time.Hour}})
	for _, id := range []string{"old", "young"} {
		c.call(t, s, id, 1, false)
		s.Ask(id, json.RawMessage(`{"args":{"of":"`+id+`"}}`))
		s.Ask(id, json.RawMessage(`"again"`))
		flush(t, s)
		c.add(3 * time.Hour)
	}
	s.Ask("nobody", json.RawMessage(`{}`))
	flush(t, s)
	if got := requestKept(t, s, "old"); got != `{"args":{"of":"old"}}` {
		t.Errorf("got %s", got)
	}
	for _, step := range []struct{ old, young string }{
		{"", `{"args":{"of":"young"}}`}, {"", ""},
	} {
		trim(t, s)
		if old, young := requestKept(t, s, "old"), requestKept(t, s, "young"); old != step.old || young != step.young {
			t.Errorf("after %s: %q and %q", c.now().Sub(start), old, young)
		}
		c.add(3 * time.Hour)
	}
	var rows int
	if err := s.read.QueryRow(`SELECT count(*) FROM requests`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// A request goes with its call, and none is kept where events are not.
func TestRequestsGoWithTheirCalls(t *testing.T) {
	var c clock
	s := opened(t, Options{Now: c.now, Keep: Keep{Calls: time.Hour, Events: 100 * time.Hour}})
	c.call(t, s, "old", 1, false)
	s.Ask("old", json.RawMessage(`{}`))
	flush(t, s)
	c.add(2 * time.Hour)
	trim(t, s)
	var rows int
	if err := s.read.QueryRow(`SELECT count(*) FROM requests`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows, %v", rows, err)
	}
	none := opened(t, Options{Keep: Keep{Artifacts: time.Hour}})
	accept(t, none, taken("c1", "r1"))
	none.Ask("c1", json.RawMessage(`{}`))
	flush(t, none)
	if got := requestKept(t, none, "c1"); got != "" {
		t.Errorf("kept all the same: %s", got)
	}
}

// Over its bound the journal gives up the requests of calls that it must keep.
func TestTrimRequestsBySize(t *testing.T) {
	var c clock
	s := opened(t, Options{Now: c.now, Keep: Keep{Calls: 1000 * time.Hour, Events: 1000 * time.Hour, Max: 2 << 20, Replay: time.Hour}})
	for i := range 80 {
		id := fmt.Sprint("c", i)
		c.call(t, s, id, 1, false)
		s.Ask(id, json.RawMessage(`"`+string(make([]byte, 64<<10))+`"`))
		flush(t, s)
	}
	trim(t, s)
	var calls, requests int
	err := errors.Join(s.read.QueryRow(`SELECT count(*) FROM calls`).Scan(&calls), s.read.QueryRow(`SELECT count(*) FROM requests`).Scan(&requests))
	if over, err2 := isOver(t, s); err != nil || err2 != nil || over || calls != 80 || requests == 0 {
		t.Errorf("%d calls and %d requests, over its bound: %v, %v", calls, requests, over, errors.Join(err, err2))
	}
	if requestKept(t, s, "c79") == "" {
		t.Error("the newest is gone")
	}
}

func under(timeout string) *control.Ran {
	return &control.Ran{Digest: "d", Choices: []control.Choice{{Field: "timeout", Value: timeout, From: "skill"}}, Clamps: []control.Clamp{}}
}

// A policy is kept once, is found by each call that ran under it, and goes with the last of them.
func TestPolicies(t *testing.T) {
	var c clock
	path := filepath.Join(t.TempDir(), "hotcell.db")
	keep := Keep{Calls: 10 * time.Hour, Events: time.Hour}
	s, other := opened(t, Options{Path: path, Now: c.now, Keep: keep}), opened(t, Options{Path: path, Now: c.now, Keep: keep})
	policy := map[string]*control.Ran{}
	put := func(s *Store, id string, p *control.Ran) {
		r := taken(id, id)
		r.Accepted = c.now()
		accept(t, s, r)
		r = answered(r, "x")
		r.Ended, r.Ran = c.now(), p
		end(t, s, r)
		policy[id] = p
	}
	check := func(rows int, ids ...string) {
		t.Helper()
		for _, id := range ids {
			if got, err := other.Policy(t.Context(), id); err != nil || !cmp.Equal(got, policy[id]) {
				t.Errorf("%s: %v, %s", id, err, cmp.Diff(policy[id], got))
			}
		}
		var n int
		if err := s.read.QueryRow(`SELECT count(*) FROM policies`).Scan(&n); err != nil || n != rows {
			t.Errorf("%d policies are kept, want %d: %v", n, rows, err)
		}
	}
	put(s, "a", under("5s"))
	put(s, "b", under("5s"))
	put(other, "c", under("5s"))
	put(s, "d", under("6s"))
	put(s, "e", nil)
	check(2, "a", "b", "c", "d", "e")
	for i := range 8 {
		c.add(50 * time.Minute)
		put(s, fmt.Sprint("later", i), under("5s"))
	}
	c.add(5 * time.Hour)
	trim(t, s)
	check(1, "later7", "later3")
	put(s, "f", under("6s")) // once more
	check(2, "f")
	c.add(24 * time.Hour)
	trim(t, s)
	check(0)
	put(s, "g", under("5s"))
	check(1, "g")
	if got, err := s.Policy(t.Context(), "nobody"); got != nil || err != nil {
		t.Errorf("of no call: %v, %v", got, err)
	}
}
