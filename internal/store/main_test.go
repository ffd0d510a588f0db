package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(envCrowd); path != "" {
		os.Exit(crowdMember(path))
	}
	goleak.VerifyTestMain(m)
}

// envPostgres names the variable with the URL of a server: with it the tests of this package run over Postgres.
const envPostgres = "HOTCELL_TEST_POSTGRES"

// openAt is [Open] for tests, which name files: over Postgres each file is a schema.
func openAt(ctx context.Context, o Options) (*Store, error) {
	if base := os.Getenv(envPostgres); base != "" {
		url, err := schemaFor(ctx, base, o.Path)
		if err != nil {
			return nil, err
		}
		o.Path, o.URL = "", url
	}
	return Open(ctx, o)
}

// schemaFor makes the schema of a path, where there is none, and returns its URL.
func schemaFor(ctx context.Context, base, path string) (string, error) {
	sum := sha256.Sum256([]byte(path))
	name := "t_" + hex.EncodeToString(sum[:10])
	db, err := sql.Open("pgx", base)
	if err != nil {
		return "", err
	}
	_, err = db.ExecContext(ctx, `SELECT pg_advisory_lock(1); CREATE SCHEMA IF NOT EXISTS `+name)
	return base + "&search_path=" + name, errors.Join(err, db.Close())
}

// onlySQLite skips a test that is about files.
func onlySQLite(t testing.TB) {
	t.Helper()
	if os.Getenv(envPostgres) != "" {
		t.Skip("is about SQLite's file")
	}
}

// TestOverPostgres runs the tests of this package again, over Postgres.
func TestOverPostgres(t *testing.T) {
	onlySQLite(t)
	server := testutil.Postgres(t)
	cmd := exec.Command(os.Args[0], "-test.v", "-test.timeout=5m", "-test.run=^Test", "-test.skip=^TestARowThatIsTooLong", "-rapid.checks=5", "-rapid.nofailfile")
	if flag.Lookup("test.short").Value.String() == "true" {
		cmd.Args = append(cmd.Args, "-test.short")
	}
	cmd.Env = append(os.Environ(), envPostgres+"="+server.URL)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := bytes.Count(out, []byte("--- PASS")); n < 50 {
		t.Errorf("%d tests passed", n)
	}
}

// start is a time at which tests begin.
var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func opened(t testing.TB, opts Options) *Store {
	t.Helper()
	if opts.Path == "" {
		opts.Path = filepath.Join(t.TempDir(), "hotcell.db")
	}
	if opts.Keep == (Keep{}) {
		opts.Keep = Keep{Events: time.Hour, Artifacts: time.Hour}
	}
	s, err := openAt(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// taken is a call that has just been accepted.
func taken(id, reqID string) control.Record {
	return control.Record{
		Call: control.Call{
			ID: id, ReqID: reqID, Skill: "echo", Principal: "p", Agent: "a", Door: "test", State: control.Queued, Accepted: start,
		},
		Digest: "d1", Instance: "one",
	}
}

// answered is r with an answer that has this text.
func answered(r control.Record, text string) control.Record {
	r.State, r.Ended = control.Succeeded, start.Add(time.Second)
	r.Answer = json.RawMessage(fmt.Sprintf(`{"type":"skill/call/resp","id":%q,"data":{"summary":%q}}`, r.ID, text))
	return r
}

func accept(t testing.TB, s *Store, r control.Record) *control.Record {
	t.Helper()
	earlier, err := s.Accept(context.Background(), r, r.Accepted.Add(-10*time.Minute))
	if err != nil {
		t.Fatalf("accept %s: %v", r.ID, err)
	}
	return earlier
}

func end(t testing.TB, s *Store, r control.Record) control.Record {
	t.Helper()
	stands, err := s.End(context.Background(), r)
	if err != nil {
		t.Fatalf("end %s: %v", r.ID, err)
	}
	return stands
}

func find(t testing.TB, s *Store, id string) control.Record {
	t.Helper()
	r, err := s.Find(context.Background(), id, control.Whose{})
	if err != nil {
		t.Fatalf("find %s: %v", id, err)
	}
	return r
}

// flush waits until everything that came before is written.
func flush(t testing.TB, s *Store) {
	t.Helper()
	for range 3 + mostWaiting/aboardBytes { // each takes some along
		empty := s.queue.waiting() == 0 // what was taken out by then is written before what is asked for now
		if err := s.ask(context.Background(), nothing); err != nil {
			t.Fatal(err)
		}
		if empty {
			return
		}
	}
	t.Fatal("the queue does not empty")
}

func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.late)
}
