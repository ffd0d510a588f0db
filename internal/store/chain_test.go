package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

func verified(t *testing.T, s *Store) control.AuditReport {
	t.Helper()
	r, err := s.VerifyAudit(context.Background(), control.AuditHead{})
	if err != nil || !r.OK {
		t.Fatalf("%+v, %v", r, err)
	}
	return r
}

// Several processes write to one chain, and others verify it meanwhile.
func TestOneChainOfSeveralWriters(t *testing.T) {
	dir := t.TempDir()
	const writers, calls = 3, 40
	var all sync.WaitGroup
	for w := range writers {
		s := opened(t, Options{Path: filepath.Join(dir, "hotcell.db"), Key: filepath.Join(dir, "audit.key"), Sync: "off"})
		all.Go(func() {
			for i := range calls {
				r := taken(fmt.Sprintf("c%d-%d", w, i), fmt.Sprintf("r%d-%d", w, i))
				accept(t, s, r)
				s.Write(audit.Entry{Call: r.ID, Kind: "tool.call", Data: map[string]any{"tool": "time"}})
				end(t, s, answered(r, "x"))
				if i%10 == 0 {
					if r, err := s.VerifyAudit(context.Background(), control.AuditHead{}); err != nil || !r.OK {
						t.Errorf("meanwhile: %+v, %v", r, err)
					}
				}
			}
		})
	}
	all.Wait()
	s := opened(t, Options{Path: filepath.Join(dir, "hotcell.db"), Key: filepath.Join(dir, "audit.key")})
	if r := verified(t, s); r.Rows != writers*calls+1 || !r.Keyed { // and one about the key
		t.Errorf("%+v", r)
	}
}

// What is too old goes from the front, seldom and at once, and the chain stays whole.
func TestTrimOfTheAuditByAge(t *testing.T) {
	c := &clock{}
	s := opened(t, Options{Now: c.now, Keep: Keep{Calls: time.Hour, Audit: 50 * time.Hour, Max: 1 << 30}})
	act := func(n int) {
		for range n {
			if err := s.Record(t.Context(), audit.Entry{Kind: audit.SecretSet}); err != nil {
				t.Fatal(err)
			}
		}
	}
	act(trimRows + 10)
	c.add(30 * time.Hour)
	act(5)
	trim(t, s)
	if r := verified(t, s); r.Rows != trimRows+15 {
		t.Errorf("nothing is old: %+v", r)
	}
	c.add(20*time.Hour + 30*time.Minute)
	trim(t, s)
	if r := verified(t, s); r.Rows != trimRows+15 {
		t.Errorf("a little too old: %+v", r)
	}
	c.add(time.Hour)
	trim(t, s)
	if r := verified(t, s); r.Rows != 7 || r.First != trimRows+11 { // two steps, a row about each
		t.Errorf("too old: %+v", r)
	}
	trim(t, s)
	if r := verified(t, s); r.Rows != 7 {
		t.Errorf("once is enough: %+v", r)
	}
	c.add(1000 * time.Hour)
	trim(t, s)
	rows, err := s.AuditRows(t.Context(), control.AuditQuery{})
	if err != nil || len(rows) != 1 || rows[0].Kind != audit.Trimmed || !strings.Contains(string(rows[0].Data), `"why":"age"`) {
		t.Errorf("all of it: %v, %v", rows, err)
	}
	verified(t, s)
	act(1)
	verified(t, s)
}

// What is too much goes, too, and calls are kept whatever the audit takes.
func TestTrimOfTheAuditBySize(t *testing.T) {
	c := &clock{}
	s := opened(t, Options{Now: c.now, Keep: Keep{Calls: time.Hour, AuditMax: 100_000, Max: 1 << 20, Replay: time.Second}})
	accept(t, s, taken("01A", "r"))
	end(t, s, answered(taken("01A", "r"), "x"))
	c.add(time.Minute)
	for i := range 400 {
		if err := s.Record(t.Context(), audit.Entry{Kind: audit.SecretSet, Data: map[string]any{"x": strings.Repeat("x", 4000), "i": i}}); err != nil {
			t.Fatal(err)
		}
	}
	trim(t, s)
	r := verified(t, s)
	if r.Rows < 20 || r.Rows > 25 || r.Head.N != 402 {
		t.Errorf("%+v", r)
	}
	if _, bytes, err := readMark(t.Context(), s.read, markHead); err != nil || bytes > 100_000 || bytes < 90_000 {
		t.Errorf("%d bytes, %v", bytes, err)
	}
	find(t, s, "01A")
}

func TestAuditQueries(t *testing.T) {
	s := opened(t, Options{Now: func() time.Time { return start }})
	for i := range 4 {
		r := taken(fmt.Sprintf("01%d", i), fmt.Sprint(i))
		r.Principal, r.Skill = fmt.Sprint("p", i%2), fmt.Sprint("s", i/2)
		accept(t, s, r)
		r = answered(r, "x")
		r.Ended = start.Add(time.Duration(i) * time.Minute)
		end(t, s, r)
	}
	if err := s.Record(t.Context(), audit.Entry{Kind: audit.CallCancel, Call: "011", At: start.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		q    control.AuditQuery
		want string
	}{
		"all": {control.AuditQuery{}, "1 2 3 4 5"}, "newest": {control.AuditQuery{Newest: true, Limit: 2}, "5 4"},
		"after": {control.AuditQuery{After: 3}, "4 5"}, "before": {control.AuditQuery{Before: 3, Newest: true}, "2 1"},
		"since": {control.AuditQuery{Since: start.Add(2 * time.Minute)}, "3 4 5"}, "until": {control.AuditQuery{Until: start.Add(2 * time.Minute)}, "1 2"},
		"principal": {control.AuditQuery{Principal: "p1"}, "2 4"}, "skill": {control.AuditQuery{Skill: "s1"}, "3 4"},
		"kind": {control.AuditQuery{Kind: audit.CallCancel}, "5"}, "call": {control.AuditQuery{Call: "011"}, "2 5"},
		"several": {control.AuditQuery{Principal: "p1", Skill: "s0", Limit: 9}, "2"}, "none": {control.AuditQuery{Principal: "' OR 1"}, ""},
	} {
		rows, err := s.AuditRows(t.Context(), tt.q)
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprint(r.N))
		}
		if strings.Join(got, " ") != tt.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A row as JSON has all that its hash covers.
func TestRowsOutliveJSON(t *testing.T) {
	s := opened(t, Options{})
	if err := s.Record(t.Context(), audit.Entry{Kind: audit.SecretSet, At: start.Add(123456789), Data: map[string]any{"html": "<&>\u2028", "n": 1e21}}); err != nil {
		t.Fatal(err)
	}
	rows, err := s.AuditRows(t.Context(), control.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(rows[0])
	var back control.AuditRow
	if err := errors.Join(err, json.Unmarshal(text, &back)); err != nil || audit.Hash(&back).String() != rows[0].Hash.String() {
		t.Errorf("%s: %v", text, err)
	}
}

// BenchmarkAuditExport reads 100,000 rows as NDJSON would have them.
func BenchmarkAuditExport(b *testing.B) {
	s := manyRows(b, 100_000)
	for b.Loop() {
		n := 0
		err := s.EachAuditRow(context.Background(), control.AuditQuery{}, func(r *control.AuditRow) error {
			n++
			_, err := json.Marshal(r)
			return err
		})
		if err != nil || n != 100_001 {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkAuditVerify looks through as many.
func BenchmarkAuditVerify(b *testing.B) {
	s := manyRows(b, 100_000)
	for b.Loop() {
		if r, err := s.VerifyAudit(context.Background(), control.AuditHead{}); err != nil || !r.OK {
			b.Fatal(r, err)
		}
	}
}

// manyRows is a journal with so many ends of calls and one row about its key.
func manyRows(b *testing.B, n int) *Store {
	b.Helper()
	dir := b.TempDir()
	s := opened(b, Options{Path: filepath.Join(dir, "hotcell.db"), Key: filepath.Join(dir, "audit.key"), Sync: "off"})
	r := answered(taken("01A", "r"), "x")
	r.Account = &control.Account{Version: "1.2.0", Bundle: strings.Repeat("b", 64), Image: strings.Repeat("i", 64), Policy: strings.Repeat("p", 64), Driver: "docker"}
	r.Usage = &control.Usage{MemoryPeakBytes: 12 << 20, CPUMS: 100}
	const batch = 1000
	for i := 0; i < n; i += batch {
		err := s.ask(context.Background(), func(tx *sql.Tx) error {
			for range batch {
				if err := s.enterEnd(tx, r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// A journal of an earlier version begins a chain, and what its calls used before is left as it is.
func TestTheAuditOfAnOlderJournal(t *testing.T) {
	onlySQLite(t)
	path := filepath.Join(t.TempDir(), "hotcell.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	old, err := goose.NewProvider(goose.DialectSQLite3, db, dir, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.UpTo(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO audit (call, at, kind, data) VALUES ('01A', 7, 'tool.call', '{}')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := opened(t, Options{Path: path, Key: path + ".key"})
	accept(t, s, taken("01A", "r"))
	s.Write(audit.Entry{Call: "01A", Kind: "tool.call"})
	flush(t, s)
	end(t, s, answered(taken("01A", "r"), "x"))
	if r := verified(t, s); r.Rows != 2 || r.Uses != 1 || len(entries(t, s, "01A")) != 2 {
		t.Errorf("%+v, %v", r, entries(t, s, "01A"))
	}
}

// A trim takes away a call that came later and ended sooner before one that took long, and bit by bit. Whoever verifies the audit
// meanwhile, or after a crash, finds nothing wrong.
func TestVerifyInTheMiddleOfATrim(t *testing.T) {
	c := &clock{}
	s := opened(t, Options{Now: c.now, Keep: Keep{Calls: time.Hour}})
	uses := func(id string, n int) {
		for range n {
			s.Write(audit.Entry{At: c.now(), Call: id, Kind: "tool.call", Data: map[string]any{"tool": "time"}})
		}
		flush(t, s)
	}
	begin := func(id string) control.Record {
		r := taken(id, id)
		r.Accepted = c.now()
		accept(t, s, r)
		return r
	}
	ends := func(r control.Record) {
		r = answered(r, "x")
		r.Ended = c.now()
		end(t, s, r)
	}
	long, next := begin("long"), begin("next")
	uses("long", 3)
	uses("next", 3)
	c.add(time.Second)
	short := begin("short")
	uses("short", trimEvents+10)
	ends(short)
	c.add(30 * time.Minute)
	ends(long)
	ends(next)
	c.add(40 * time.Minute)
	step := dropCalls(c.now().Add(-time.Hour), always)
	if err := s.ask(t.Context(), func(tx *sql.Tx) error { _, err := step(tx); return err }); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Audit(t.Context(), "short"); err != nil || len(left) != 10 {
		t.Fatalf("%d entries are left, %v", len(left), err)
	}
	if r := verified(t, s); r.Uses != 6 {
		t.Errorf("meanwhile: %+v", r)
	}
	trim(t, s)
	if r := verified(t, s); r.Uses != 6 { // what the long ones used first is older than calls are kept, and theirs
		t.Errorf("%+v", r)
	}
	if _, err := s.write.Exec(`DELETE FROM audit WHERE call = 'short' OR call = 'next' AND nth = 1`); err != nil {
		t.Fatal(err)
	}
	c.add(time.Hour)
	trim(t, s)
	if r := verified(t, s); r.Uses != 0 {
		t.Errorf("after all: %+v", r)
	}
}

// Nobody keeps the end of a call out of the audit by making one field of its row long.
func TestARowThatIsTooLongKeepsTheRest(t *testing.T) {
	s := opened(t, Options{})
	r := taken("01A", "r")
	accept(t, s, r)
	r = answered(r, "x")
	r.Account = &control.Account{Bundle: "b", Uses: &control.Uses{Hosts: map[string]int{}}}
	for i := range 200 {
		r.Account.Uses.Hosts[fmt.Sprintf("%d%s", i, strings.Repeat("x", 250))] = 1
	}
	end(t, s, r)
	rows, err := s.AuditRows(t.Context(), control.AuditQuery{Call: "01A"})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	var got struct {
		Code, Bundle string
		Uses         any
		Dropped      []string
	}
	if err := json.Unmarshal(rows[0].Data, &got); err != nil || got.Code != "ok" || got.Bundle != "b" || got.Uses != nil ||
		len(got.Dropped) != 1 || got.Dropped[0] != "uses" {
		t.Errorf("%.300s, %v", rows[0].Data, err)
	}
	many := map[string]string{}
	for i := range 6000 {
		many[fmt.Sprint(i)] = "x"
	}
	for _, data := range []any{many, make(chan int), strings.Repeat("x", maxRow)} {
		if raw := rowData(data); !json.Valid(raw) || len(raw) > maxRow || !strings.Contains(string(raw), "dropped") {
			t.Errorf("%T: %.100s", data, raw)
		}
	}
	verified(t, s)
}
