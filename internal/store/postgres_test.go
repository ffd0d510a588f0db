package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

// onlyPostgres skips a test that is not about Postgres, unless these are the tests over it.
func onlyPostgres(t *testing.T) (url string) {
	t.Helper()
	base := os.Getenv(envPostgres)
	if base == "" {
		t.Skip("runs with TestOverPostgres")
	}
	url, err := schemaFor(t.Context(), base, t.TempDir())
	must(t, err)
	return url
}

func TestRebind(t *testing.T) {
	for query, want := range map[string]string{
		`SELECT 1`:                                       `SELECT 1`,
		`SELECT ? WHERE a = ?`:                           `SELECT $1 WHERE a = $2`,
		`SELECT ?2, ?1, ?2 FROM t LIMIT ?12`:             `SELECT $2, $1, $2 FROM t LIMIT $12`,
		`SELECT '?', 'it''s ?' FROM t WHERE x=?`:         `SELECT '?', 'it''s ?' FROM t WHERE x=$1`,
		`FROM calls INDEXED BY calls_by_age WHERE a = ?`: `FROM calls WHERE a = $1`,
		`SELECT 1 FROM ended INDEXED BY ended_by_seq`:    `SELECT 1 FROM ended`,
	} {
		if got := rebind(query); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
}

// columnsOf lists the columns of all tables but goose's.
func columnsOf(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.Query(query)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var table, column string
		must(t, rows.Scan(&table, &column))
		if table != "goose_db_version" {
			all = append(all, table+"."+column)
		}
	}
	must(t, rows.Err())
	slices.Sort(all)
	return all
}

// Both engines have the same tables with the same columns, by migrations of the same names.
func TestBothEnginesHaveTheSameTables(t *testing.T) {
	url := onlyPostgres(t)
	file, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "hotcell.db")})
	must(t, err)
	server, err := Open(t.Context(), Options{URL: url})
	must(t, err)
	want := columnsOf(t, file.read, `SELECT m.name, p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`)
	got := columnsOf(t, server.read, `SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = current_schema()`)
	if d := cmp.Diff(want, got); d != "" || len(want) < 50 {
		t.Error(d)
	}
	must(t, errors.Join(file.Close(), server.Close()))
	names := func(engine string) (all []string) {
		entries, err := migrations.ReadDir("migrations/" + engine)
		must(t, err)
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	all := names("sqlite")
	if d := cmp.Diff(all, names("postgres")); d != "" || !strings.HasPrefix(all[len(all)-1], fmt.Sprintf("%05d_", latest)) {
		t.Error(d, all)
	}
}

// The password is in no error, whatever is wrong with the server.
func TestAPasswordIsNotTold(t *testing.T) {
	const password = "hunter2-is-it"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	closed := l.Addr().String()
	must(t, l.Close())
	urls := []string{
		"postgres://u:" + password + "@" + closed + "/db?sslmode=disable&connect_timeout=1",
		"postgres://u:" + password + "@" + closed + "/db?sslmode=nonsense",
		"postgres://u:" + password + "@[::1/db",
		"postgres://u:" + password + "@host:port:x/db",
		"postgres://u:%zz" + password + "@host/db",
	}
	if base := os.Getenv(envPostgres); base != "" {
		urls = append(urls, strings.Replace(base, "hotcell@", "nobody:"+password+"@", 1), strings.Replace(strings.Replace(base, "hotcell@", "hotcell:"+password+"@", 1), "/postgres", "/absent", 1))
	}
	for _, url := range urls {
		var log bytes.Buffer
		s, err := Open(t.Context(), Options{URL: url, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err == nil {
			_ = s.Close()
			t.Fatal("it opens")
		}
		if text := err.Error() + log.String(); strings.Contains(text, password) || !strings.Contains(text, "store.url") {
			t.Errorf("it says %s", text)
		}
	}
}

// What Postgres can't keep as a text is kept as well as it goes, and the audit is whole.
func TestTextsThatPostgresRefuses(t *testing.T) {
	s, err := Open(t.Context(), Options{URL: onlyPostgres(t), Keep: Keep{Events: time.Hour}})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	r := taken("c1", "r\x001")
	r.Skill, r.Principal, r.Agent = "a\x00b\xff", "p\x00", "\xff"
	accept(t, s, r)
	if earlier := accept(t, s, r); earlier == nil || earlier.ID != "c1" {
		t.Errorf("sent again: %+v", earlier)
	}
	end(t, s, answered(r, "nul \x00"))
	report, err := s.VerifyAudit(t.Context(), control.AuditHead{})
	if err != nil || !report.OK || report.Rows != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// Over its bound a journal in Postgres loses its oldest calls, and no more than that.
func TestTrimBySizeOverPostgres(t *testing.T) {
	var c clock
	const piece = 256 << 10
	s, err := Open(t.Context(), Options{URL: onlyPostgres(t), Now: c.now, Keep: Keep{
		Calls: 1000 * time.Hour, Events: 1000 * time.Hour, Artifacts: 1000 * time.Hour, Max: 5*2*piece + 100<<10, Replay: 10 * time.Minute,
	}})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	for i := range 10 {
		noise := make([]byte, piece)
		_, _ = rand.Read(noise)
		r := taken(fmt.Sprint(i), fmt.Sprint(i))
		r.Accepted = c.now()
		accept(t, s, r)
		for seq := range 2 {
			s.Say(r.ID, seq, false, json.RawMessage(`"`+hex.EncodeToString(noise)[seq*piece:][:piece]+`"`))
		}
		r = answered(r, "x")
		r.Ended = c.now()
		end(t, s, r)
		flush(t, s)
		c.add(time.Hour)
	}
	trim(t, s)
	calls, err := s.List(t.Context(), 0, control.Whose{})
	if err != nil || len(calls) != 5 || calls[4].ID != "5" {
		t.Errorf("left: %v, %v", ids(calls), err)
	}
}

// A server that is restarted, and a connection that it ends, cost no call its acceptance or its answer.
func TestAServerThatIsRestarted(t *testing.T) {
	onlySQLite(t) // it has a server of its own
	server := testutil.Postgres(t)
	s, err := Open(t.Context(), Options{URL: server.URL, Keep: Keep{Events: time.Hour}})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	accept(t, s, taken("c1", "r1"))
	other, err := sql.Open("pgx", server.URL)
	must(t, err)
	_, err = other.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hotcell'`)
	must(t, errors.Join(err, other.Close()))
	accept(t, s, taken("c2", "r2"))
	server.Stop(t)
	if err := s.Ready(); err == nil {
		t.Error("it is ready with no server")
	}
	done := make(chan error, 1)
	go func() { _, err := s.End(context.Background(), answered(taken("c1", "r1"), "x")); done <- err }()
	server.Start(t)
	if err := <-done; err != nil {
		t.Errorf("an answer while the server restarts: %v", err)
	}
	testutil.Poll(t, 30*time.Second, func() bool { return s.Ready() == nil })
	end(t, s, answered(taken("c2", "r2"), "x"))
	if r := find(t, s, "c1"); r.Answer == nil {
		t.Error("c1 has no answer")
	}
}

// A writer that is stopped in the middle of a transaction holds up the others for seconds only.
func TestAWriterThatIsStopped(t *testing.T) {
	url := onlyPostgres(t)
	s, err := Open(t.Context(), Options{URL: url, Keep: Keep{Events: time.Hour}})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	stopped, err := newPostgres(url)
	must(t, err)
	db, read, err := stopped.connect(t.Context(), "normal")
	must(t, err)
	defer func() { must(t, errors.Join(db.Close(), read.Close())) }()
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	began := time.Now()
	accept(t, s, taken("c1", "r1"))
	if took := time.Since(began); took > 30*time.Second || took < idleLimit/2 {
		t.Errorf("it took %s", took)
	}
	s.Say("c1", 0, false, json.RawMessage(`{}`))
	flush(t, s)
}

// By the leases supervisors learn who lives, and one succeeds in declaring another dead.
func TestLeases(t *testing.T) {
	url := onlyPostgres(t)
	a, err := Open(t.Context(), Options{URL: url})
	must(t, err)
	defer func() { must(t, a.Close()) }()
	b, err := Open(t.Context(), Options{URL: url})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	must(t, a.Leases().Enroll(t.Context(), "a", "host"))
	must(t, b.Leases().Enroll(t.Context(), "b", "host"))
	beat := func(s *Store, id string) (map[string]bool, bool) {
		t.Helper()
		peers := map[string]bool{}
		alive, err := s.Leases().Beat(t.Context(), id, func(peer string, silent time.Duration, dead bool) {
			if silent < 0 || silent > time.Minute {
				t.Errorf("%s is silent for %s", peer, silent)
			}
			peers[peer] = dead
		})
		must(t, err)
		return peers, alive
	}
	if peers, alive := beat(a, "a"); !alive || len(peers) != 2 || peers["b"] {
		t.Errorf("%v, %v", peers, alive)
	}
	if did, err := a.Leases().Declare(t.Context(), "b", time.Minute); did || err != nil {
		t.Errorf("declared dead though it was not silent: %v", err)
	}
	won := 0
	testutil.Poll(t, 30*time.Second, func() bool {
		for _, s := range []*Store{a, b} {
			did, err := s.Leases().Declare(t.Context(), "b", 10*time.Millisecond)
			must(t, err)
			if did {
				won++
			}
		}
		return won > 0
	})
	if _, alive := beat(b, "b"); alive || won != 1 {
		t.Errorf("the dead one counts as alive, or it was declared dead %d times", won)
	}
	must(t, b.Leases().Leave(t.Context(), "b"))
	if peers, _ := beat(a, "a"); len(peers) != 1 {
		t.Errorf("who has left is there: %v", peers)
	}
}

// A call is cancelled by whoever runs it, and asked about once.
func TestCancelsAreTaken(t *testing.T) {
	s, err := Open(t.Context(), Options{URL: onlyPostgres(t)})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	accept(t, s, taken("c1", "r1")) // of the instance "one"
	for range 2 {
		if asked, err := s.AskCancel(t.Context(), "c1", true); !asked || err != nil {
			t.Errorf("%v, %v", asked, err)
		}
	}
	take := func(instance string) (all []string) {
		t.Helper()
		must(t, s.Cancels(t.Context(), instance, func(call string, operator bool) { all = append(all, fmt.Sprint(call, operator)) }))
		return all
	}
	if got := take("two"); got != nil {
		t.Errorf("another one's: %v", got)
	}
	if got := take("one"); !slices.Equal(got, []string{"c1true"}) {
		t.Errorf("%v", got)
	}
	if got := take("one"); got != nil {
		t.Errorf("again: %v", got)
	}
}

// Supervisors that share a store and have different keys of the audit are told so.
func TestKeysOfTheAuditThatDiffer(t *testing.T) {
	url := onlyPostgres(t)
	for _, tt := range []struct {
		secret string
		warns  bool
	}{
		{strings.Repeat("5a", 32), false}, {strings.Repeat("5a", 32) + "\n", false}, {strings.Repeat("77", 32), true}, {"", true},
	} {
		var log bytes.Buffer
		o := Options{URL: url, Log: slog.New(slog.NewTextHandler(&log, nil))}
		if tt.secret != "" {
			o.Secret = []byte(tt.secret)
		}
		s, err := Open(t.Context(), o)
		must(t, err)
		if warns := strings.Contains(log.String(), "another key"); warns != tt.warns || tt.secret != "" && strings.Contains(log.String(), tt.secret) {
			t.Errorf("%.4s: %s", tt.secret, log.String())
		}
		if !tt.warns {
			must(t, s.Record(t.Context(), audit.Entry{Kind: audit.TokenRevoke}))
		}
		must(t, s.Close())
	}
	if _, err := Open(t.Context(), Options{URL: url, Secret: []byte("5a5a")}); err == nil || !strings.Contains(err.Error(), "audit.key: expected 64 hex digits") || strings.Contains(err.Error(), "5a5a") {
		t.Errorf("a bad key: %v", err)
	}
}
