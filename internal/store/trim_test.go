package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// clock is a time that tests move.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time      { return start.Add(time.Duration(c.at.Load())) }
func (c *clock) add(d time.Duration) { c.at.Add(int64(d)) }

// call journals a call with two events, one of them an artifact, of so many bytes each. It ends unless flight is set.
func (c *clock) call(t *testing.T, s *Store, id string, bytes int, flight bool) {
	t.Helper()
	r := taken(id, "r-"+id)
	r.Accepted = c.now()
	accept(t, s, r)
	for seq, artifact := range []bool{false, true} {
		s.Say(id, seq, artifact, json.RawMessage(fmt.Sprintf(`{"seq":%d,"x":%q}`, seq, strings.Repeat("x", bytes))))
	}
	if !flight {
		end(t, s, answered(r, "x"))
	}
	flush(t, s)
}

// left tells what is left of each call: its id, and the numbers of its events.
func left(t *testing.T, s *Store) string {
	t.Helper()
	calls, err := s.List(context.Background(), 0, control.Whose{})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for i := len(calls) - 1; i >= 0; i-- {
		events, err := s.Events(context.Background(), calls[i].ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		word := calls[i].ID + ":"
		for _, ev := range events {
			word += string(ev[7]) // {"seq":N
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func trim(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Trim(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestTrimByAge(t *testing.T) {
	var c clock
	s := opened(t, Options{Now: c.now, Keep: Keep{Calls: 10 * time.Hour, Events: 2 * time.Hour, Artifacts: 5 * time.Hour}})
	c.call(t, s, "a", 1, false)
	c.call(t, s, "f", 1, true)
	c.add(time.Hour)
	c.call(t, s, "b", 1, false)
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "a:01 f:01 b:01"},
		{time.Hour, "a:01 f:01 b:01"}, // just as old as they may be
		{time.Minute, "a:1 f:1 b:01"},
		{time.Hour, "a:1 f:1 b:1"},
		{3 * time.Hour, "a: f: b:"},
		{4*time.Hour + 30*time.Minute, "f: b:"}, // a call in flight stays
		{time.Hour, "f:"},
	} {
		c.add(step.after)
		trim(t, s)
		if got := left(t, s); got != step.want {
			t.Errorf("after %s: %s, want %s", c.now().Sub(start), got, step.want)
		}
	}
}

// Over its bound the journal loses the oldest calls, of the latest only their events, and the file gets smaller.
func TestTrimBySize(t *testing.T) {
	onlySQLite(t)
	var c clock
	path := filepath.Join(t.TempDir(), "hotcell.db")
	const piece = 256 << 10
	s := opened(t, Options{Path: path, Now: c.now, Keep: Keep{
		Calls: 1000 * time.Hour, Events: 1000 * time.Hour, Artifacts: 1000 * time.Hour, Max: 5 * 2 * piece, Replay: 10 * time.Minute,
	}})
	c.call(t, s, "f", 1, true)
	for i := range 10 {
		c.call(t, s, fmt.Sprint(i), piece, false)
		c.add(time.Hour)
	}
	before := fileSize(t, s, path)
	trim(t, s)
	if got := left(t, s); got != "f:01 6:01 7:01 8:01 9:01" {
		t.Errorf("left: %s", got)
	}
	used, free, err := size(s.read)
	if err != nil || used > 5*2*piece || free > sparePages {
		t.Errorf("%d bytes used, %d pages free, %v", used, free, err)
	}
	if after := fileSize(t, s, path); after > before*2/3 {
		t.Errorf("the file had %d bytes and has %d", before, after)
	}

	c.add(-time.Hour) // back to the last one: it and the next ones are too young to be dropped
	for i := range 10 {
		c.call(t, s, fmt.Sprintf("n%d", i), piece, false)
	}
	trim(t, s)
	if got := left(t, s); !strings.HasPrefix(got, "f: 9: n0: n1: ") || !strings.HasSuffix(got, "n9:01") || strings.Count(got, "n") != 10 {
		t.Errorf("left: %s", got)
	}
}

// isOver reports whether a journal is over its bound.
func isOver(t *testing.T, s *Store) (over bool, err error) {
	t.Helper()
	return over, errors.Join(err, s.ask(t.Context(), func(tx *sql.Tx) (err error) { over, err = s.over()(tx); return err }))
}

// fileSize is the size of the file once the log is copied into it.
func fileSize(t *testing.T, s *Store, path string) int64 {
	t.Helper()
	if _, err := s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A call with more events than one transaction takes away goes too, and calls go on meanwhile.
func TestTrimBesideCalls(t *testing.T) {
	var c clock
	s := opened(t, Options{Now: c.now, Keep: Keep{Calls: time.Hour, Events: 100 * time.Hour, Artifacts: time.Hour}})
	accept(t, s, taken("big", "r"))
	for seq := range 10 * trimEvents {
		s.Say("big", 2*seq, false, json.RawMessage(`{}`)) // with gaps, so that each is a row
	}
	end(t, s, answered(taken("big", "r"), "x"))
	flush(t, s)
	for i := range 3 * trimCalls {
		c.call(t, s, fmt.Sprintf("old%d", i), 1, false)
	}
	c.add(2 * time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	calling := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil || n == 0; n++ {
			r := taken(fmt.Sprintf("new%d", n), fmt.Sprintf("new%d", n))
			r.Accepted = c.now()
			if _, err := s.Accept(context.Background(), r, c.now()); err != nil {
				t.Error(err)
			}
			if _, err := s.End(context.Background(), answered(r, "x")); err != nil {
				t.Error(err)
			}
		}
		calling <- n
	}()
	trim(t, s)
	stop()
	n := <-calling
	calls, err := s.List(t.Context(), 0, control.Whose{})
	if err != nil || len(calls) != n {
		t.Errorf("%d calls are left of %d, %v", len(calls), n, err)
	}
	var events int
	if err := s.read.QueryRow("SELECT count(*) FROM events").Scan(&events); err != nil || events != 0 {
		t.Errorf("%d events are left, %v", events, err)
	}
}

// Trim ends when it is told to.
func TestTrimStops(t *testing.T) {
	s := opened(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Trim(ctx); err == nil {
		t.Error("it took no notice")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
