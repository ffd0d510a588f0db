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
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// crime is a journal with a history, and an attacker who has its file but not its key.
type crime struct {
	t    *testing.T
	dir  string
	head control.AuditHead // as it was anchored before
}

func (c *crime) options(key bool) Options {
	o := Options{
		Path: filepath.Join(c.dir, "hotcell.db"), Now: func() time.Time { return start.Add(time.Hour) },
		Keep: Keep{Calls: 30 * 24 * time.Hour, Audit: 10 * time.Minute}, ReadKey: true,
	}
	if key {
		o.Key, o.ReadKey = filepath.Join(c.dir, "audit.key"), false
	}
	return o
}

// newCrime has rows of which the first were trimmed, one call that used two things, and acts of an operator.
func newCrime(t *testing.T) *crime {
	c := &crime{t: t, dir: t.TempDir()}
	now := start
	o := c.options(true)
	o.Now = func() time.Time { return now }
	s, err := openAt(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		r := taken(fmt.Sprintf("01%02d", i), fmt.Sprintf("r%d", i))
		accept(t, s, r)
		if i == 7 {
			s.Write(audit.Entry{At: now, Call: r.ID, Kind: "tool.call", Data: map[string]any{"tool": "time"}})
			s.Write(audit.Entry{At: now, Call: r.ID, Kind: "llm.request", Data: map[string]any{"provider": "p"}})
			flush(t, s)
		}
		r = answered(r, "fine")
		r.Ended = now
		end(t, s, r)
		now = now.Add(2 * time.Minute)
	}
	trim(t, s)
	if err := s.Record(t.Context(), audit.Entry{Kind: audit.SecretSet, Data: map[string]any{"secret": "x"}}); err != nil {
		t.Fatal(err)
	}
	if c.head, err = s.AuditHead(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// again is the same crime on a copy of the folder, and of the schema where there is one.
func (c *crime) again(t *testing.T) *crime {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(c.dir)); err != nil {
		t.Fatal(err)
	}
	copied := &crime{t: t, dir: dir, head: c.head}
	if os.Getenv(envPostgres) == "" {
		return copied
	}
	var from string
	c.inside(func(db *sql.DB) error { return db.QueryRow(`SELECT current_schema()`).Scan(&from) })
	s, err := openAt(t.Context(), Options{Path: filepath.Join(dir, "hotcell.db")}) // which makes the tables
	must(t, err)
	must(t, s.Close())
	copied.inside(func(db *sql.DB) error {
		all := []string{"SET session_replication_role = replica"} // no trigger refuses anything
		for _, table := range []string{"calls", "audit", "chain", "chain_marks"} {
			all = append(all, "DELETE FROM "+table, "INSERT INTO "+table+" SELECT * FROM "+from+"."+table)
		}
		return execAll(db, all)
	})
	return copied
}

func execAll(db *sql.DB, statements []string) error {
	for _, st := range statements {
		if _, err := db.Exec(st); err != nil {
			return fmt.Errorf("%s: %w", st, err)
		}
	}
	return nil
}

// onServer says in Postgres's words what tests say in SQLite's.
func onServer(st string) string {
	if os.Getenv(envPostgres) == "" {
		return st
	}
	if trigger, ok := strings.CutPrefix(st, "DROP TRIGGER "); ok {
		table, _, _ := strings.Cut(trigger, "_")
		return st + " ON " + table
	}
	return strings.NewReplacer("zeroblob(32)", `decode(repeat('00', 32), 'hex')`, "zeroblob(36)", `decode(repeat('00', 36), 'hex')`,
		"CAST(replace(CAST(data AS TEXT), '\"ok\"', '\"timeout\"') AS BLOB)", `convert_to(replace(convert_from(data, 'UTF8'), '"ok"', '"timeout"'), 'UTF8')`,
		`CAST('{"tool":"none"}' AS BLOB)`, `convert_to('{"tool":"none"}', 'UTF8')`).Replace(st)
}

// tamper changes the file behind hotcell's back.
func (c *crime) tamper(statements ...string) {
	c.t.Helper()
	var all []string
	for _, st := range append([]string{"DROP TRIGGER chain_no_update", "DROP TRIGGER chain_no_delete", "DROP TRIGGER calls_one_answer"}, statements...) {
		all = append(all, onServer(st))
	}
	c.inside(func(db *sql.DB) error { return execAll(db, all) })
}

// database is what the attacker has.
func (c *crime) database() *sql.DB {
	c.t.Helper()
	path := filepath.Join(c.dir, "hotcell.db")
	base := os.Getenv(envPostgres)
	if base == "" {
		db, err := sql.Open("sqlite", path)
		must(c.t, err)
		return db
	}
	url, err := schemaFor(c.t.Context(), base, path)
	must(c.t, err)
	e, err := newPostgres(url)
	must(c.t, err)
	return e.open(1, false, nil)
}

func (c *crime) inside(do func(db *sql.DB) error) {
	c.t.Helper()
	db := c.database()
	if err := errors.Join(do(db), db.Close()); err != nil {
		c.t.Fatal(err)
	}
}

// rechain makes every hash from row n on anew, the marks included, as one does who knows the format.
func (c *crime) rechain(n int64) {
	c.t.Helper()
	c.inside(func(db *sql.DB) error {
		rows, err := db.Query(`SELECT `+rowColumns+` FROM chain WHERE n >= ? ORDER BY n`, n-1)
		if err != nil {
			return err
		}
		all, err := scanAll(rows, scanRow)
		if err != nil {
			return err
		}
		var head control.AuditHead
		for i := range all {
			if r := &all[i]; i > 0 {
				seal := r.Seal
				audit.Link(r, head, audit.Key{})
				if _, err := db.Exec(`UPDATE chain SET prev = ?, hash = ?, seal = ? WHERE n = ?`, []byte(r.Prev), []byte(r.Hash), []byte(seal), r.N); err != nil {
					return err
				}
			}
			head = control.AuditHead{N: all[i].N, Hash: all[i].Hash}
		}
		_, err = db.Exec(`UPDATE chain_marks SET n = ?, hash = ? WHERE name = 'head'`, head.N, []byte(head.Hash))
		return err
	})
}

func (c *crime) verify(key bool, anchor control.AuditHead) control.AuditReport {
	c.t.Helper()
	s, err := openAt(context.Background(), c.options(key))
	if err != nil {
		c.t.Fatal(err)
	}
	report, err := s.VerifyAudit(context.Background(), anchor)
	if err := errors.Join(err, s.Close()); err != nil {
		c.t.Fatal(err)
	}
	return report
}

// Rows 1 to 6 are trimmed here, row 12 says so, 13 is an operator's, and 9 is about the call that used something.
func TestTampering(t *testing.T) {
	scene := newCrime(t)
	if r := scene.verify(true, scene.head); !r.OK || r.First != 7 || r.Head.N != 13 || !r.Keyed || r.Uses != 2 {
		t.Fatalf("untouched: %+v", r)
	}
	const copied = "at, kind, call, principal, agent, door, skill, data, prev, hash, seal"
	for name, tt := range map[string]struct {
		do   func(c *crime)
		want string
		row  int64
		key  bool // nothing but the key, or an anchor, can tell
		file bool // a server's types don't let it happen
	}{
		"an edited field":             {do: sqls(`UPDATE chain SET principal = 'mallory' WHERE n = 8`), want: "row 8 was edited", row: 8},
		"edited data":                 {do: sqls(`UPDATE chain SET data = CAST(replace(CAST(data AS TEXT), '"ok"', '"timeout"') AS BLOB) WHERE n = 9`), want: "row 9 was edited", row: 9},
		"a rewritten time":            {do: sqls(`UPDATE chain SET at = at - 1000000 WHERE n = 10`), want: "row 10 was edited", row: 10},
		"an edited hash":              {do: sqls(`UPDATE chain SET hash = zeroblob(32) WHERE n = 8`), want: "row 8 was edited", row: 8},
		"an edited link":              {do: sqls(`UPDATE chain SET prev = zeroblob(32) WHERE n = 8`), want: "row 8 was edited", row: 8},
		"an edited seal":              {do: sqls(`UPDATE chain SET seal = zeroblob(36) WHERE n = 8`), want: "row 8: it was sealed with another key", row: 8, key: true},
		"a removed seal":              {do: sqls(`UPDATE chain SET seal = NULL WHERE n = 8`), want: "row 8: it has no seal", row: 8, key: true},
		"a row of the middle is gone": {do: sqls(`DELETE FROM chain WHERE n = 9`), want: "row 9 is missing", row: 9},
		"rows of the middle are gone": {do: sqls(`DELETE FROM chain WHERE n IN (9, 10)`), want: "rows 9 to 10 are missing", row: 9},
		"the front is gone":           {do: sqls(`DELETE FROM chain WHERE n < 9`), want: "rows 7 to 8 are missing", row: 7},
		"the end is gone":             {do: sqls(`DELETE FROM chain WHERE n > 11`), want: "rows 12 to 13 are missing at the end", row: 12},
		"everything is gone":          {do: sqls(`DELETE FROM chain`), want: "rows 7 to 13 are missing at the end", row: 7},
		"two rows changed places": {
			do:   sqls(`UPDATE chain SET n = 100 WHERE n = 8`, `UPDATE chain SET n = 8 WHERE n = 9`, `UPDATE chain SET n = 9 WHERE n = 100`),
			want: "row 8 was edited", row: 8,
		},
		"a row is there twice":   {do: sqls(`INSERT INTO chain SELECT 14, ` + copied + ` FROM chain WHERE n = 13`), want: "row 14 was edited", row: 14},
		"a row was put in":       {do: sqls(`INSERT INTO chain SELECT 0, ` + copied + ` FROM chain WHERE n = 8`), want: "row 0 comes behind row 6", row: 0},
		"the numbers moved":      {do: sqls(`UPDATE chain SET n = n + 100 WHERE n > 9`, `UPDATE chain SET n = n - 99 WHERE n > 100`, `UPDATE chain_marks SET n = 14 WHERE name = 'head'`), want: "row 10 is missing", row: 10},
		"unreadable":             {do: sqls(`UPDATE chain SET at = 'noon' WHERE n = 8`), want: "can't be read", row: -1, file: true},
		"hidden from who asks":   {do: sqls(`UPDATE chain SET principal = CAST(principal AS BLOB) WHERE n = 8`), want: "row 8 was edited: a text in it is stored as something else", row: 8, file: true},
		"its kind is hidden":     {do: sqls(`UPDATE chain SET kind = CAST(kind AS BLOB) WHERE n = 13`), want: "row 13 was edited: a text in it is stored as something else", row: 13, file: true},
		"the head is set back":   {do: sqls(`UPDATE chain_marks SET n = 12 WHERE name = 'head'`), want: "row 13 is not known as written", row: 13},
		"the head's hash":        {do: sqls(`UPDATE chain_marks SET hash = zeroblob(32) WHERE name = 'head'`), want: "row 13 is not the one that the mark of the last row names", row: 13},
		"the head is gone":       {do: sqls(`DELETE FROM chain_marks WHERE name = 'head'`), want: "not known as written", row: 1},
		"the checkpoint moved":   {do: sqls(`UPDATE chain_marks SET n = 5 WHERE name = 'start'`), want: "row 6 is missing", row: 6},
		"the checkpoint's hash":  {do: sqls(`UPDATE chain_marks SET hash = zeroblob(32) WHERE name = 'start'`), want: "row 7 does not follow row 6", row: 7},
		"the checkpoint is gone": {do: sqls(`DELETE FROM chain_marks WHERE name = 'start'`), want: "rows 1 to 6 are missing", row: 1},
		"the front is gone, and the checkpoint follows": {
			do:   sqls(`UPDATE chain_marks SET n = 8, hash = (SELECT hash FROM chain WHERE n = 8) WHERE name = 'start'`, `DELETE FROM chain WHERE n <= 8`),
			want: "the mark of what was trimmed says through 8, the row about it says through 6", row: 8,
		},
		"edited, and its hash made anew": {
			do: func(c *crime) {
				c.tamper(`UPDATE chain SET principal = 'mallory' WHERE n = 9`)
				c.relink(9)
			},
			want: "row 10 does not follow row 9", row: 10,
		},
		"edited, and all hashes made anew": {
			do: func(c *crime) {
				c.tamper(`UPDATE chain SET principal = 'mallory' WHERE n = 9`)
				c.rechain(9)
			},
			want: "row 9: its seal is not the key's", row: 9, key: true,
		},
		"the end is gone, and the head follows": {
			do:   sqls(`DELETE FROM chain WHERE n = 13`, `UPDATE chain_marks SET n = 12, hash = (SELECT hash FROM chain WHERE n = 12) WHERE name = 'head'`),
			want: "the mark of the last row (12): its seal is not the key's", row: 12, key: true,
		},
		"what a call used was edited":      {do: sqls(`UPDATE audit SET data = CAST('{"tool":"none"}' AS BLOB) WHERE kind = 'tool.call'`), want: "what call 0107 used: one of its 2 entries was edited", row: 9},
		"what a call used is gone":         {do: sqls(`DELETE FROM audit`), want: "what call 0107 used: entries 1 to 2 are missing", row: 9},
		"some of what a call used is gone": {do: sqls(`DELETE FROM audit WHERE kind = 'tool.call'`), want: "what call 0107 used: entry 1 is missing", row: 9},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.file {
				onlySQLite(t)
			}
			c := scene.again(t)
			tt.do(c)
			keyed, plain := c.verify(true, control.AuditHead{}), c.verify(false, control.AuditHead{})
			told := plain
			if tt.key {
				told = keyed
			}
			if keyed.OK || plain.OK != tt.key {
				t.Errorf("with the key: %+v\nwithout: %+v", keyed, plain)
			}
			if !strings.Contains(told.Fault, tt.want) || tt.row >= 0 && told.BadRow != tt.row {
				t.Errorf("%+v, want row %d: %s", told, tt.row, tt.want)
			}
			if r := c.verify(false, c.head); r.OK && !strings.Contains(name, "seal") {
				t.Errorf("with the anchor alone: %+v", r)
			}
		})
	}
}

func sqls(statements ...string) func(c *crime) {
	return func(c *crime) { c.tamper(statements...) }
}

// relink makes one row's hash anew.
func (c *crime) relink(n int64) {
	c.t.Helper()
	c.inside(func(db *sql.DB) error {
		r, err := scanRow(db.QueryRow(`SELECT `+rowColumns+` FROM chain WHERE n = ?`, n))
		if err != nil {
			return err
		}
		_, err = db.Exec(`UPDATE chain SET hash = ? WHERE n = ?`, []byte(audit.Hash(&r)), n)
		return err
	})
}

// The file itself refuses changes, as long as nobody takes its triggers away.
func TestTheAuditIsAppendOnly(t *testing.T) {
	c := newCrime(t)
	c.inside(func(db *sql.DB) error {
		for _, st := range []string{`UPDATE chain SET principal = 'mallory' WHERE n = 9`, `DELETE FROM chain WHERE n = 9`, `DELETE FROM chain`} {
			if _, err := db.Exec(st); err == nil || !strings.Contains(err.Error(), "the audit is append-only") {
				t.Errorf("%s: %v", st, err)
			}
		}
		return nil
	})
	if r := c.verify(true, c.head); !r.OK {
		t.Errorf("%+v", r)
	}
}

// Anchors name any row that is kept, with or without its number.
func TestAnchors(t *testing.T) {
	c := newCrime(t)
	var at10 control.AuditHead
	c.inside(func(db *sql.DB) error {
		r, err := scanRow(db.QueryRow(`SELECT ` + rowColumns + ` FROM chain WHERE n = 10`))
		at10 = control.AuditHead{N: 10, Hash: r.Hash}
		return err
	})
	for name, tt := range map[string]struct {
		anchor control.AuditHead
		want   string
	}{
		"the head": {c.head, ""}, "an earlier one": {at10, ""}, "no number": {control.AuditHead{Hash: at10.Hash}, ""},
		"another number": {control.AuditHead{N: 9, Hash: at10.Hash}, "row 9 is not the one that was anchored"},
		"too late":       {control.AuditHead{N: 14, Hash: at10.Hash}, "the anchored row 14 is missing: the chain ends with 13"},
		"trimmed":        {control.AuditHead{N: 2, Hash: make(control.Sum, 32)}, "the anchored row 2 is not kept any more"},
		"nowhere":        {control.AuditHead{Hash: make(control.Sum, 32)}, "the anchored hash is no row's"},
	} {
		if r := c.verify(true, tt.anchor); r.OK != (tt.want == "") || !strings.Contains(r.Fault, tt.want) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A key that was lost is replaced, and verify says which rows the old one sealed.
func TestALostKey(t *testing.T) {
	c := newCrime(t)
	path := filepath.Join(c.dir, "audit.key")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	old, err := os.ReadFile(path)
	if err := errors.Join(err, os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	if r := c.verify(true, c.head); r.OK || !strings.Contains(r.Fault, "it was sealed with another key") {
		t.Errorf("%+v", r)
	}
	if r := c.verify(false, c.head); !r.OK || r.Head.N != 14 {
		t.Errorf("without a key: %+v", r)
	}
	if err := os.WriteFile(path, append(old, "00"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openAt(t.Context(), c.options(true)); err == nil || !strings.Contains(err.Error(), "expected 64 hex digits") {
		t.Errorf("a bad key: %v", err)
	}
	if err := os.WriteFile(path, old, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := c.verify(true, c.head); r.OK || r.BadRow != 14 {
		t.Errorf("the old key again: %+v", r)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Nobody is kept from writing by what was done to the marks, and what was done stays visible.
func TestWritingGoesOnAfterTampering(t *testing.T) {
	for name, st := range map[string]string{
		"set back": `UPDATE chain_marks SET n = 8 WHERE name = 'head'`, "gone": `DELETE FROM chain_marks`, "rows gone": `DELETE FROM chain WHERE n > 10`,
		"edited": `UPDATE chain SET data = 'x' WHERE n = 13`,
	} {
		c := newCrime(t)
		c.tamper(st)
		s, err := openAt(t.Context(), c.options(true))
		if err != nil {
			t.Fatal(err)
		}
		r := taken("02A", "r")
		accept(t, s, r)
		end(t, s, answered(r, "fine"))
		all, err := s.AuditRows(t.Context(), control.AuditQuery{Newest: true, Limit: 1})
		if err != nil || len(all) != 1 || all[0].Call != "02A" || all[0].N != 14 {
			t.Errorf("%s: %v, %v", name, all, err)
		}
		if r, err := s.VerifyAudit(t.Context(), control.AuditHead{}); err != nil || r.OK && name != "set back" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What each row is about, and that no argument, answer or secret is in any.
func TestWhatTheAuditSays(t *testing.T) {
	s := opened(t, Options{Now: func() time.Time { return start }})
	r := taken("01A", "r1")
	r.Account = &control.Account{Groups: []string{"team=admin"}, Correlation: "c-1", Version: "1.2.0", Bundle: "abc", Image: "sha256:7", Policy: "p", Driver: "docker"}
	accept(t, s, r)
	s.Write(audit.Entry{Call: "01A", Kind: "tool.call", Data: map[string]any{"tool": "time"}})
	flush(t, s)
	r = answered(r, "private words")
	r.Confidence, r.Unenforced, r.Usage = "kernel", []string{"seccomp", "network"}, &control.Usage{MemoryPeakBytes: 9}
	end(t, s, r)
	end(t, s, answered(r, "again")) // changes nothing
	tok, secret, err := auth.Issue(auth.Token{Principal: "alice", Scopes: []auth.Scope{auth.Calls}}, start)
	if err != nil {
		t.Fatal(err)
	}
	ctx := audit.By(t.Context(), audit.Actor{Principal: "uid:0", Door: "cli"})
	if err := errors.Join(s.AddToken(ctx, tok, secret.Digest()), s.RevokeToken(auth.NewContext(t.Context(), auth.Nobody()), tok.ID)); err != nil {
		t.Fatal(err)
	}
	all, err := s.AuditRows(t.Context(), control.AuditQuery{})
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	for i, want := range []string{audit.CallEnd + " p a test echo", audit.TokenCreate + " uid:0  cli ", audit.TokenRevoke + "   http "} {
		got := all[i]
		if s := fmt.Sprintf("%s %s %s %s %s", got.Kind, got.Principal, got.Agent, got.Door, got.Skill); s != want || got.N != int64(i+1) {
			t.Errorf("row %d: %q, want %q", got.N, s, want)
		}
	}
	text, err := json.Marshal(all)
	if err != nil || strings.Contains(string(text), "private words") || strings.Contains(string(text), secret.Reveal()) {
		t.Errorf("%s, %v", text, err)
	}
	for _, want := range []string{`"code":"ok"`, `"version":"1.2.0"`, `"bundle":"abc"`, `"image":"sha256:7"`, `"policy":"p"`, `"driver":"docker"`, `"groups":["team=admin"]`,
		`"correlation":"c-1"`, `"confidence":"kernel"`, `"unenforced":["seccomp","network"]`, `"memory_peak_bytes":9`, `"used":{"rows":1,`} {
		if !strings.Contains(string(all[0].Data), want) {
			t.Errorf("%s lacks %s", all[0].Data, want)
		}
	}
	if got := find(t, s, "01A"); got.Account == nil || got.Account.Version != "1.2.0" || len(got.Unenforced) != 2 {
		t.Errorf("the journal has %+v, %q", got.Account, got.Unenforced)
	}
}
