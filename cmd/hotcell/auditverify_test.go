package main

import (
	"bytes"
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
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/store"
)

// audited has a data folder with some rows in its audit, and runs commands over it.
func audited(t *testing.T) (dir string, run func(stdin string, args ...string) (code int, out, errs string)) {
	t.Helper()
	dir = t.TempDir()
	journal, err := store.Open(context.Background(), store.Options{Path: filepath.Join(dir, "hotcell.db"), Key: filepath.Join(dir, "audit.key")})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		r := control.Record{Call: control.Call{
			ID: fmt.Sprintf("01%d", i), ReqID: fmt.Sprint("r", i), Skill: fmt.Sprint("s", i%2), Principal: fmt.Sprint("p", i%2), Accepted: time.Now(), State: control.Queued,
		}}
		_, err := journal.Accept(context.Background(), r, time.Time{})
		r.Ended, r.State, r.Answer = time.Now(), control.Succeeded, json.RawMessage(`{}`)
		if _, err2 := journal.End(context.Background(), r); errors.Join(err, err2) != nil {
			t.Fatal(err, err2)
		}
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, func(stdin string, args ...string) (int, string, string) {
		b := newBench(t, succeed(nil, ""))
		b.app.stdin = strings.NewReader(stdin)
		code := b.run(append(append([]string{"audit"}, args...), "--data-dir", dir)...)
		return code, b.out.String(), b.err.String()
	}
}

func TestAuditVerify(t *testing.T) {
	dir, run := audited(t)
	code, head, errs := run("", "head")
	if head = strings.TrimSpace(head); code != exitOK || !strings.HasPrefix(head, "6:") || len(head) != 66 {
		t.Fatalf("head: exit %d, %q %s", code, head, errs)
	}
	for _, args := range [][]string{{"verify"}, {"verify", "--head", head}, {"verify", "--head", head[2:]}, {"verify", "--no-key"}} {
		if code, out, errs := run("", args...); code != exitOK || !strings.HasPrefix(out, "ok: 6 rows, ") || !strings.Contains(out, "head "+head) {
			t.Errorf("%v: exit %d, %q %s", args, code, out, errs)
		}
	}
	var r control.AuditReport
	if code, out, errs := run("", "verify", "--json"); code != exitOK || json.Unmarshal([]byte(out), &r) != nil || !r.OK || !r.Keyed || r.Rows != 6 {
		t.Errorf("exit %d, %q %s", code, out, errs)
	}
	for _, bad := range []string{"7", "x:" + head[2:], "0:" + head[2:], "-1:" + head[2:], head + "0", ":"} {
		if code, _, errs := run("", "verify", "--head", bad); code != exitUsage || !strings.Contains(errs, "expected N:HASH") {
			t.Errorf("--head %s: exit %d, %s", bad, code, errs)
		}
	}
	key := filepath.Join(dir, "audit.key")
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := run("", "verify"); code != exitFailed || out != "" || !strings.Contains(errs, "the seals were not looked at") {
		t.Errorf("without the key: exit %d, %q %s", code, out, errs)
	}
	if code, out, errs := run("", "verify", "--no-key"); code != exitOK || !strings.Contains(out, "no seals") {
		t.Errorf("--no-key: exit %d, %q %s", code, out, errs)
	}
	if err := os.Rename(key+".away", key); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, `UPDATE chain SET principal = 'mallory' WHERE n = 3`)
	if code, out, errs := run("", "verify"); code != exitFailed || out != "" || errs != "hotcell: the audit is not as it was written: row 3 was edited: its content does not have its hash\n" {
		t.Errorf("exit %d, %q %s", code, out, errs)
	}
	if code, out, _ := run("", "verify", "--json"); code != exitFailed || json.Unmarshal([]byte(out), &r) != nil || r.OK || r.BadRow != 3 {
		t.Errorf("exit %d, %q", code, out)
	}
}

// A journal that was emptied is not as it was written, whatever its key says.
func TestAuditVerifyOfNothing(t *testing.T) {
	dir, run := audited(t)
	for _, name := range []string{"hotcell.db", "hotcell.db-wal", "hotcell.db-shm"} {
		if err := os.Truncate(filepath.Join(dir, name), 0); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"verify"}, {"verify", "--no-key"}, {"verify", "--json"}} {
		if code, out, errs := run("", args...); code != exitFailed || out != "" || !strings.Contains(errs, "has no row: nothing was verified") {
			t.Errorf("%v: exit %d, %q %s", args, code, out, errs)
		}
	}
}

// edit changes the audit behind hotcell's back.
func edit(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "hotcell.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range []string{"DROP TRIGGER chain_no_update", "DROP TRIGGER chain_no_delete", statement} {
		if _, err := db.Exec(st); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAuditExport(t *testing.T) {
	dir, run := audited(t)
	lines := func(args ...string) (all []control.AuditRow) {
		t.Helper()
		code, out, errs := run("", append([]string{"export"}, args...)...)
		if code != exitOK {
			t.Fatalf("%v: exit %d, %s", args, code, errs)
		}
		for line := range strings.Lines(out) {
			var r control.AuditRow
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		return all
	}
	for want, args := range map[int][]string{
		6: nil, 5: {"--kind", audit.CallEnd}, 2: {"--principal", "p1"}, 3: {"--skill", "s0"}, 1: {"--call", "r4"}, 4: {"--after", "2"}, 0: {"--until", "2020-01-01"},
	} {
		if got := lines(args...); len(got) != want {
			t.Errorf("%v: %d rows", args, len(got))
		}
	}
	if got := lines("--since", "1h", "--kind", "call.end", "--call", "012"); len(got) != 1 || got[0].Principal != "p0" {
		t.Errorf("%v", got)
	}
	for _, args := range [][]string{{"--since", "noon"}, {"--kind", "x"}, {"--call", "nobody's"}, {"--after", "-1"}, {"--output", filepath.Join(dir, "no", "x")}, {"--output", dir}} {
		if code, _, errs := run("", append([]string{"export"}, args...)...); code != exitUsage || errs == "" {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
	path := filepath.Join(dir, "x.ndjson")
	if code, out, errs := run("", "export", "--output", path); code != exitOK || out != "" {
		t.Fatalf("exit %d, %s", code, errs)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	journal, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "hotcell.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	half := filepath.Join(dir, "half.ndjson")
	if err := (&app{}).exportAudit(ctx, journal, control.AuditQuery{}, half); err == nil {
		t.Error("it was not to work")
	}
	if _, err := os.Stat(half); !os.IsNotExist(err) {
		t.Errorf("an export that failed left a file: %v", err)
	}
}

// A flag that is given nothing is no flag that was left out: what it narrows or anchors would not be.
func TestAuditFlagsOfNothing(t *testing.T) {
	_, run := audited(t)
	for command, flags := range map[string][]string{
		"verify": {"head", "file"},
		"export": {"output", "call", "principal", "skill", "kind", "since", "until"},
		"list":   {"call", "principal", "skill", "kind", "since", "until"},
	} {
		for _, flag := range flags {
			code, out, errs := run("", command, "--"+flag, "")
			if want := fmt.Sprintf("hotcell: audit %s: --%s: expected a value, got nothing", command, flag); code != exitUsage || out != "" || !strings.HasPrefix(errs, want) {
				t.Errorf("%s --%s: exit %d, %s%s", command, flag, code, out, errs)
			}
		}
	}
}

// An export is verified without its journal, and anything that was done to it is found.
func TestAuditVerifyFile(t *testing.T) {
	dir, run := audited(t)
	path := filepath.Join(dir, "x.ndjson")
	if code, _, errs := run("", "export", "--output", path); code != exitOK {
		t.Fatal(errs)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, head, _ := run("", "head")
	head = strings.TrimSpace(head)
	rows := bytes.SplitAfter(whole, []byte("\n"))
	for name, tt := range map[string]struct {
		text string
		want string
	}{
		"whole":               {string(whole), ""},
		"a suffix":            {string(bytes.Join(rows[2:], nil)), ""},
		"edited":              {strings.Replace(string(whole), `"p1"`, `"p2"`, 1), "row 3 was edited"},
		"a gap":               {string(rows[0]) + string(rows[2]), "row 2 is missing"},
		"twice":               {string(whole) + string(rows[5]), "row 6 comes behind row 6"},
		"swapped":             {string(rows[1]) + string(rows[0]), "row 1 comes behind row 2"},
		"cut":                 {string(bytes.Join(rows[:5], nil)), "the anchored row 6 is missing"},
		"nothing":             {"", "the anchored row 6 is missing"},
		"no JSON":             {"{", "line 1 is no row"},
		"another":             {`{"x":1}`, "line 1 is no row"},
		"a row behind a row":  {strings.TrimSuffix(string(whole), "\n") + `{"n":7,"kind":"call.end"}`, "line 6 is not as an export writes it"},
		"a field twice":       {strings.Replace(string(whole), `"principal":"p1"`, `"principal":"p9","principal":"p1"`, 1), "line 3 is not as"},
		"a field in capitals": {strings.Replace(string(whole), `"principal":"p1"`, `"principal":"p9","Principal":"p1"`, 1), "line 3 is not as"},
	} {
		code, out, errs := run(tt.text, "verify", "--file", "-", "--head", head)
		if (code == exitOK) != (tt.want == "") || !strings.Contains(errs, tt.want) || code != exitOK && code != exitFailed {
			t.Errorf("%s: exit %d, %s%s", name, code, out, errs)
		}
	}
	if code, out, errs := run("", "verify", "--file", "-"); code != exitFailed || out != "" || !strings.Contains(errs, "no row: nothing was verified") {
		t.Errorf("an empty one: exit %d, %s%s", code, out, errs)
	}
	if code, _, errs := run(string(rows[0])+strings.Repeat("x", 1<<20), "verify", "--file", "-"); code != exitFailed || !strings.Contains(errs, "line 2 is no row of an export: it is too long") {
		t.Errorf("a long line: exit %d, %s", code, errs)
	}
	if code, out, _ := run("", "verify", "--file", path); code != exitOK || !strings.Contains(out, "no seals") {
		t.Errorf("exit %d, %s", code, out)
	}
}
