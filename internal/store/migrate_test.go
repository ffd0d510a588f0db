package store

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/hotcell/hotcell/internal/control"
)

// ofVersion makes a journal as an earlier version had it.
func ofVersion(t *testing.T, path string, version int64, fill func(exec func(sql string, args ...any))) {
	t.Helper()
	onlySQLite(t)
	must(t, prepare(path))
	db, err := connect(path, "normal", false)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	db.SetMaxOpenConns(1)
	dir, err := fs.Sub(migrations, "migrations/sqlite")
	must(t, err)
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, dir, goose.WithDisableGlobalRegistry(true))
	must(t, err)
	_, err = provider.UpTo(context.Background(), version)
	must(t, err)
	fill(func(sql string, args ...any) {
		_, err := db.Exec(sql, args...)
		must(t, err)
	})
}

// The calls of an earlier version are found and counted, also one whose view can't be read.
func TestCallsOfVersionSix(t *testing.T) {
	var c clock
	path := filepath.Join(t.TempDir(), "hotcell.db")
	put := func(exec func(string, ...any), r control.Record, view []byte) {
		ended := int64(0)
		if r.State.Terminal() {
			ended = r.Ended.UnixMicro()
		}
		exec(`INSERT INTO calls (id, req_id, principal, agent, digest, instance, accepted, ended, view, answer) VALUES (?, ?, ?, ?, 'd', 'one', ?, ?, ?, ?)`,
			r.ID, r.ReqID, r.Principal, r.Agent, r.Accepted.UnixMicro(), ended, view, []byte(r.Answer))
	}
	ofVersion(t, path, 6, func(exec func(string, ...any)) {
		for i, v := range verdicts {
			r := stands(taken(fmt.Sprint("c", i), fmt.Sprint("r", i)), v)
			r.Skill, r.Door = "it's \"quoted\"", "mcp"
			view, err := encode(r.Call)
			must(t, err)
			put(exec, r, view)
		}
		put(exec, answered(taken("bad", "bad"), ""), []byte("{"))
	})
	s := opened(t, Options{Path: path, Now: c.now})
	for i, v := range verdicts {
		calls, err := s.Search(t.Context(), control.Only("p"), control.CallQuery{Verdict: v, Skill: "it's \"quoted\"", Door: "mcp"})
		if err != nil || len(calls) != 1 || calls[0].ID != fmt.Sprint("c", i) {
			t.Errorf("%s: %v, %v", v, ids(calls), err)
		}
	}
	c.ran(t, s, "new", "p", "it's \"quoted\"", "succeeded", time.Second)
	got := statsOf(t, s, control.Only("p"), control.StatsQuery{Since: start.Add(-time.Hour), Until: start.Add(time.Hour), Buckets: 1})
	if got.Total.Calls != len(verdicts)-1+2 || got.Skills[0].Calls != len(verdicts)-1+1 {
		t.Errorf("%+v", got)
	}
	if _, err := s.write.Exec(`UPDATE calls SET answer = 'x' WHERE id = 'c1'`); err == nil {
		t.Error("a bare update replaced an answer")
	}
}
