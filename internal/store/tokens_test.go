package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

func issued(t *testing.T, s *Store, tok auth.Token) (auth.Token, auth.Secret) {
	t.Helper()
	tok, secret, err := auth.Issue(tok, start)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddToken(t.Context(), tok, secret.Digest()); err != nil {
		t.Fatal(err)
	}
	return tok, secret
}

func TestATokenIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hotcell.db")
	s := opened(t, Options{Path: path, Now: func() time.Time { return start }})
	full, secret := issued(t, s, auth.Token{
		Note: "for tests", Principal: "alice", Groups: []auth.Membership{{Group: "team", Role: auth.RoleAdmin}}, Agent: "a",
		Scopes: []auth.Scope{auth.Calls, auth.SkillsRead}, Expires: start.Add(time.Hour),
	})
	plain, _ := issued(t, s, auth.Token{Principal: "bob", Scopes: []auth.Scope{auth.Admin}})
	got, err := s.FindToken(t.Context(), secret.Digest())
	if d := cmp.Diff(full, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := s.FindToken(t.Context(), auth.Digest{}); !errors.Is(err, auth.ErrRefused) {
		t.Errorf("unknown: %v", err)
	}
	all, err := s.Tokens(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, tok := range all {
		if d := cmp.Diff(map[string]auth.Token{full.ID: full, plain.ID: plain}[tok.ID], tok); d != "" {
			t.Error(d)
		}
	}
	if os.Getenv(envPostgres) != "" {
		return
	}
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil || bytes.Contains(data, []byte(secret.Reveal()[len(auth.Prefix):])) {
			t.Errorf("%s holds the token, or: %v", name, err)
		}
	}
}

// What one process revokes, another one that has the same file open refuses at once.
func TestARevokedTokenIsDeadForOthersToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hotcell.db")
	daemon, cli := opened(t, Options{Path: path}), opened(t, Options{Path: path, Now: func() time.Time { return start }})
	tok, secret := issued(t, cli, auth.Token{Principal: "alice", Scopes: []auth.Scope{auth.Calls}})
	door := auth.Keyed{Tokens: daemon}
	if id, err := door.Authenticate(t.Context(), auth.Credentials{Bearer: secret}); err != nil || id.Principal != "alice" {
		t.Fatalf("%+v, %v", id, err)
	}
	for range 2 {
		if err := cli.RevokeToken(t.Context(), tok.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := door.Authenticate(t.Context(), auth.Credentials{Bearer: secret}); !errors.Is(err, auth.ErrRefused) {
		t.Errorf("after the revocation: %v", err)
	}
	if got, err := daemon.FindToken(t.Context(), secret.Digest()); err != nil || !got.Revoked.Equal(start) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := cli.RevokeToken(t.Context(), "tok-none"); !errors.Is(err, ErrNoToken) {
		t.Errorf("unknown: %v", err)
	}
}

func TestDeadTokensMakeRoom(t *testing.T) {
	now := start
	s := opened(t, Options{Now: func() time.Time { return now }})
	expired, _ := issued(t, s, auth.Token{Principal: "p", Scopes: []auth.Scope{auth.Calls}, Expires: start.Add(time.Hour)})
	revoked, _ := issued(t, s, auth.Token{Principal: "p", Scopes: []auth.Scope{auth.Calls}})
	alive, _ := issued(t, s, auth.Token{Principal: "p", Scopes: []auth.Scope{auth.Calls}})
	if err := s.RevokeToken(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	listed := func() (ids []string) {
		t.Helper()
		all, err := s.Tokens(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, tok := range all {
			ids = append(ids, tok.ID)
		}
		return ids
	}
	now = start.Add(deadTokens - time.Hour)
	issued(t, s, auth.Token{Principal: "p", Scopes: []auth.Scope{auth.Calls}})
	if ids := listed(); len(ids) != 4 {
		t.Errorf("after a while: %v, without %s", ids, expired.ID)
	}
	now = start.Add(deadTokens + 2*time.Hour)
	last, _ := issued(t, s, auth.Token{Principal: "p", Scopes: []auth.Scope{auth.Calls}})
	ids := listed()
	if len(ids) != 3 || !bytes.Contains([]byte(fmt.Sprint(ids)), []byte(alive.ID)) || !bytes.Contains([]byte(fmt.Sprint(ids)), []byte(last.ID)) {
		t.Errorf("after long: %v", ids)
	}
}

// planOf tells how SQLite answers a query.
func planOf(t *testing.T, s *Store, query string, args ...any) (steps []string) {
	t.Helper()
	if os.Getenv(envPostgres) != "" {
		return nil
	}
	rows, err := s.read.Query("EXPLAIN QUERY PLAN "+query, args...)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var n int
		var step string
		must(t, rows.Scan(&n, &n, &n, &step))
		steps = append(steps, step)
	}
	must(t, rows.Err())
	return steps
}

// Of two principals with the same request id each finds its own call, and lists no other.
func TestAPrincipalFindsItsOwnCalls(t *testing.T) {
	s := opened(t, Options{})
	for i, p := range []string{"alice", "bob", "alice", "bob", ""} {
		r := taken(fmt.Sprintf("c%d", i), fmt.Sprintf("r%d", i/2))
		r.Principal = p
		if earlier := accept(t, s, r); earlier != nil {
			t.Fatalf("c%d is c%s", i, earlier.ID)
		}
		if i < 2 {
			end(t, s, answered(r, "x"))
		}
	}
	for whose, want := range map[control.Whose][]string{
		{}: {"c4", "c3", "c2", "c1", "c0"}, control.Only("alice"): {"c2", "c0"}, control.Only("bob"): {"c3", "c1"},
		control.Only("eve"): nil,
	} {
		calls, err := s.List(t.Context(), 0, whose)
		var ids []string
		for _, c := range calls {
			ids = append(ids, c.ID)
		}
		if d := cmp.Diff(want, ids); d != "" || err != nil {
			t.Errorf("%+v: %v\n%s", whose, err, d)
		}
	}
	for _, step := range planOf(t, s, listOwn, 9, "p") {
		if strings.HasPrefix(step, "SCAN") && step != "SCAN calls USING INDEX calls_in_flight" && step != "SCAN latest" {
			t.Errorf("the list of one principal's calls: %s", step)
		}
	}
	for name, tt := range map[string]struct {
		id    string
		whose control.Whose
		want  string
	}{
		"own request id":   {"r1", control.Only("alice"), "c2"},
		"newest of all":    {"r1", control.Whose{}, "c3"},
		"own call id":      {"c0", control.Only("alice"), "c0"},
		"another's id":     {"c1", control.Only("alice"), ""},
		"another's req id": {"r2", control.Only("alice"), ""},
	} {
		r, err := s.Find(t.Context(), tt.id, tt.whose)
		if tt.want == "" && !errors.Is(err, control.ErrNotFound) || tt.want != "" && (err != nil || r.ID != tt.want) {
			t.Errorf("%s: %s, %v", name, r.ID, err)
		}
	}
}
