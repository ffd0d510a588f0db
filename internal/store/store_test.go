package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

func nothing(*sql.Tx) error { return nil }

func TestACallIsKeptOverAReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hotcell.db")
	s, err := openAt(t.Context(), Options{Path: path, Keep: Keep{Events: time.Hour, Artifacts: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	r := taken("c1", "r1")
	if accept(t, s, r) != nil {
		t.Fatal("a new call is taken for an earlier one")
	}
	r.State, r.Cell, r.Started = control.Starting, "cell", start
	s.Note(r.Call)
	s.Say("c1", 0, false, json.RawMessage(`{"seq":0}`))
	s.Say("c1", 1, true, json.RawMessage(`{"seq":1}`))
	s.Say("unknown", 0, false, json.RawMessage(`{"seq":0}`))
	flush(t, s)
	if got := find(t, s, "c1"); !cmp.Equal(got, r) {
		t.Error(cmp.Diff(r, got))
	}
	r.Notes = map[string]any{"exit_code": json.Number("3")}
	r = answered(r, "fine")
	if stands := end(t, s, r); !cmp.Equal(stands, r) {
		t.Error(cmp.Diff(r, stands))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if _, err := s.Accept(t.Context(), taken("c2", "r2"), start); !errors.Is(err, ErrClosed) {
		t.Errorf("after its end: %v", err)
	}

	s = opened(t, Options{Path: path})
	for _, id := range []string{"c1", "r1"} {
		if got := find(t, s, id); !cmp.Equal(got, r) {
			t.Error(cmp.Diff(r, got))
		}
	}
	events, err := s.Events(t.Context(), "c1", 1)
	if err != nil || len(events) != 1 || string(events[0]) != `{"seq":1}` {
		t.Errorf("events %s, %v", events, err)
	}
	if _, err := s.Find(t.Context(), "c9", control.Whose{}); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("an unknown call: %v", err)
	}
	if os.Getenv(envPostgres) != "" {
		return
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// The first answer stands, whoever gave it, and no statement at all changes it.
func TestTheFirstAnswerStands(t *testing.T) {
	s := opened(t, Options{})
	r := taken("c1", "r1")
	accept(t, s, r)
	first := answered(r, "first")
	end(t, s, first)
	if stands := end(t, s, answered(r, "second")); !cmp.Equal(stands, first) {
		t.Error(cmp.Diff(first, stands))
	}
	r.State = control.Running
	s.Note(r.Call) // late
	flush(t, s)
	if got := find(t, s, "c1"); !cmp.Equal(got, first) {
		t.Error(cmp.Diff(first, got))
	}
	if _, err := s.write.Exec(`UPDATE calls SET answer = 'x' WHERE id = 'c1'`); err == nil {
		t.Error("a bare update replaced the answer")
	}
	unknown := answered(taken("c2", "r2"), "of a call that nobody journalled")
	end(t, s, unknown)
	if got := find(t, s, "c2"); !cmp.Equal(got, unknown) {
		t.Error(cmp.Diff(unknown, got))
	}
}

func TestTheSameRequestAgain(t *testing.T) {
	s := opened(t, Options{})
	first := taken("c1", "r1")
	accept(t, s, first)
	other := func(id string, change func(*control.Record)) control.Record {
		r := taken(id, "r1")
		change(&r)
		return r
	}
	late := other("s5", func(r *control.Record) { r.Accepted = start.Add(time.Second + 10*time.Minute) })
	if earlier := accept(t, s, late); earlier == nil || earlier.ID != "c1" {
		t.Errorf("much later, but it still runs: got %v", earlier)
	}
	end(t, s, answered(first, "fine"))
	for _, tt := range []struct {
		name string
		r    control.Record
		want string // the earlier call
	}{
		{"same", other("s1", func(*control.Record) {}), "c1"},
		{"another body", other("s2", func(r *control.Record) { r.Digest = "d2" }), "c1"},
		{"by another", other("s3", func(r *control.Record) { r.Instance = "two" }), "c1"},
		{"later", other("s4", func(r *control.Record) { r.Accepted = start.Add(time.Second + 10*time.Minute - 1e3) }), "c1"},
		{"other principal", other("s6", func(r *control.Record) { r.Principal = "q" }), ""},
		{"other agent", other("s7", func(r *control.Record) { r.Agent = "b" }), ""},
		{"other id", other("s8", func(r *control.Record) { r.ReqID = "r2" }), ""},
		{"too late", late, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			earlier := accept(t, s, tt.r)
			switch {
			case tt.want == "" && earlier != nil:
				t.Errorf("taken for %s", earlier.ID)
			case tt.want != "" && (earlier == nil || earlier.ID != tt.want):
				t.Errorf("got %v", earlier)
			}
		})
	}
}

// An answer that says nothing about the request is not repeated.
func TestARequestThatMayBeMadeAgain(t *testing.T) {
	s := opened(t, Options{})
	r := answered(taken("c1", "r1"), "cancelled")
	r.Again = true
	accept(t, s, r)
	end(t, s, r)
	second := taken("c2", "r1")
	if earlier := accept(t, s, second); earlier != nil {
		t.Fatalf("taken for %s", earlier.ID)
	}
	end(t, s, answered(second, "fine"))
	if earlier := accept(t, s, taken("c3", "r1")); earlier == nil || earlier.ID != "c2" || earlier.Answer == nil {
		t.Errorf("got %v", earlier)
	}
	if got := find(t, s, "r1"); got.ID != "c2" {
		t.Errorf("the newest is %s", got.ID)
	}
}

func TestInFlightAndList(t *testing.T) {
	s := opened(t, Options{})
	for i := range 5 {
		r := taken(fmt.Sprintf("c%d", i), fmt.Sprintf("r%d", i))
		accept(t, s, r)
		if i%2 == 0 {
			end(t, s, answered(r, "x"))
		}
	}
	flight, err := s.InFlight(t.Context())
	if err != nil || len(flight) != 2 || flight[0].ID != "c1" || flight[1].ID != "c3" || flight[0].Instance != "one" {
		t.Errorf("in flight: %v, %v", flight, err)
	}
	for limit, want := range map[int]string{0: "c4 c3 c2 c1 c0", 2: "c4 c3"} {
		calls, err := s.List(t.Context(), limit, control.Whose{})
		var ids []string
		for _, c := range calls {
			ids = append(ids, c.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != want {
			t.Errorf("limit %d: %s, %v", limit, got, err)
		}
	}
}

// A call whose events do not fit in one answer is read page by page.
func TestEventsInPages(t *testing.T) {
	s := opened(t, Options{})
	s.page = 4000
	accept(t, s, taken("c1", "r1"))
	const n = 20
	big := strings.Repeat("x", 1000)
	for seq := range n {
		s.Say("c1", seq, false, json.RawMessage(fmt.Sprintf(`{"seq":%d,"x":%q}`, seq, big)))
		flush(t, s)
	}
	seq, pages := 0, 0
	for ; ; pages++ {
		events, err := s.Events(t.Context(), "c1", seq)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			break
		}
		for _, ev := range events {
			if !strings.HasPrefix(string(ev), fmt.Sprintf(`{"seq":%d,`, seq)) {
				t.Fatalf("event %d is %.20s", seq, ev)
			}
			seq++
		}
	}
	if seq != n || pages != n/4 {
		t.Errorf("%d events in %d pages", seq, pages)
	}
}

func TestEventsThatAreNotKept(t *testing.T) {
	s := opened(t, Options{Keep: Keep{Artifacts: time.Hour}})
	accept(t, s, taken("c1", "r1"))
	s.Say("c1", 0, false, json.RawMessage(`0`))
	s.Say("c1", 1, true, json.RawMessage(`1`))
	flush(t, s)
	if events, err := s.Events(t.Context(), "c1", 0); err != nil || len(events) != 1 || string(events[0]) != "1" {
		t.Errorf("%s, %v", events, err)
	}
}

// Each failure to open is one line that names the file and says what to do.
func TestFilesThatCannotBeOpened(t *testing.T) {
	onlySQLite(t)
	for name, tt := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"garbage":    {func(t *testing.T, path string) { write(t, path, strings.Repeat("no journal ", 1000)) }, "move it away"},
		"cut":        {cut, "move it away"},
		"a folder":   {func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, "not a regular file"},
		"no folder":  {func(t *testing.T, path string) { must(t, os.Remove(filepath.Dir(path))) }, "make its folder"},
		"newer":      {newer, "written by a newer hotcell: it has version 99"},
		"other data": {otherData, "move it away"},
		"others'":    {others, "a database of another program: choose another"},
		"a link":     {func(t *testing.T, path string) { must(t, os.Symlink(path+"-gone", path)) }, "a link to nothing: move it away"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x", "hotcell.db")
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			tt.make(t, path)
			s, err := openAt(t.Context(), Options{Path: path})
			if err == nil {
				_ = s.Close()
				t.Fatal("it opens")
			}
			if text := err.Error(); !strings.HasPrefix(text, "journal "+path+": ") || !strings.Contains(text, tt.want) || strings.Contains(text, "\n") {
				t.Errorf("got %s", text)
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// cut leaves the first page of a journal and zeros.
func cut(t *testing.T, path string) {
	s, err := openAt(t.Context(), Options{Path: path})
	must(t, err)
	must(t, s.Close())
	must(t, os.Truncate(path, 4096))
	must(t, os.Truncate(path, 64<<10))
}

func newer(t *testing.T, path string) {
	s, err := openAt(t.Context(), Options{Path: path})
	must(t, err)
	_, err = s.write.Exec(`PRAGMA user_version = 99`)
	must(t, errors.Join(err, s.Close()))
}

func otherData(t *testing.T, path string) {
	db, err := connect(path, "normal", false)
	must(t, err)
	_, err = db.Exec(`CREATE TABLE calls (x); PRAGMA user_version = 1`)
	must(t, errors.Join(err, db.Close()))
}

func others(t *testing.T, path string) {
	db, err := connect(path, "normal", false)
	must(t, err)
	_, err = db.Exec(`CREATE TABLE customers (x)`)
	must(t, errors.Join(err, db.Close()))
}

func TestAPathThatIsTooLong(t *testing.T) {
	onlySQLite(t)
	path := filepath.Join(t.TempDir(), strings.Repeat(strings.Repeat("x", 99)+"/", 6), "hotcell.db")
	if _, err := openAt(t.Context(), Options{Path: path}); !errors.Is(err, errLongPath) {
		t.Errorf("got %v", err)
	}
}

// Others cannot read a journal; a file that is none keeps its mode.
func TestWhoCanReadIt(t *testing.T) {
	onlySQLite(t)
	journal, other := filepath.Join(t.TempDir(), "hotcell.db"), filepath.Join(t.TempDir(), "hostname")
	s, err := openAt(t.Context(), Options{Path: journal})
	must(t, err)
	must(t, s.Close())
	write(t, other, "no journal")
	must(t, errors.Join(os.Chmod(journal, 0o644), os.Chmod(other, 0o644)))
	opened(t, Options{Path: journal})
	if _, err := openAt(t.Context(), Options{Path: other}); err == nil {
		t.Error("it opens")
	}
	for name, want := range map[string]fs.FileMode{journal: 0o600, journal + "-wal": 0o600, journal + "-shm": 0o600, other: 0o644} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", filepath.Base(name), info, err, want)
		}
	}
}

// The words for what the file system says when no test can make it say so.
func TestAdvice(t *testing.T) {
	for want, err := range map[string]error{
		"let this user write": &fs.PathError{Op: "open", Path: "p", Err: fs.ErrPermission},
		"end it, or try":      errOpening,
		"move it away, or":    errors.New("something else"),
	} {
		if text := explain(&sqliteEngine{path: "p"}, err).Error(); !strings.Contains(text, want) {
			t.Errorf("%v: %s", err, text)
		}
	}
	if explain(&sqliteEngine{path: "p"}, nil) != nil {
		t.Error("no error became one")
	}
}

// still ends the writer, so that the test may be it.
func still(s *Store) {
	s.queue.close()
	s.loop.Wait()
}

// What goes wrong in one change is no other's problem.
func TestAFailureHurtsNobodyElse(t *testing.T) {
	s := opened(t, Options{})
	accept(t, s, taken("c1", "r1"))
	bad := &op{do: func(*sql.Tx) error { return errors.New("bad") }, done: make(chan error, 1)}
	good := &op{do: func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO events (call, first, last, artifact, at, data) VALUES (1, 1, 1, 0, 0, '')`)
		return err
	}, done: make(chan error, 1)}
	late := &op{said: &words{call: "c1", first: 7, last: 7, data: []byte(`"said"`)}, late: true}
	still(s)
	s.commit(batch{urgent: []*op{bad, good}, late: []*op{late}})
	if err := <-bad.done; err == nil {
		t.Error("the bad one succeeded")
	}
	if err := <-good.done; err != nil {
		t.Error(err)
	}
	var kept int
	if err := s.read.QueryRow(`SELECT count(*) FROM events WHERE first = 7`).Scan(&kept); err != nil || kept != 1 {
		t.Errorf("what a skill said is lost: %d rows, %v", kept, err)
	}
	if _, err := s.write.Exec(`DELETE FROM events`); err != nil {
		t.Errorf("a transaction is still open: %v", err)
	}
}

// Who stops waiting before the writer begins has asked for nothing.
func TestAskAndGo(t *testing.T) {
	s := opened(t, Options{})
	holding, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.ask(context.Background(), func(*sql.Tx) error { close(holding); <-free; return nil })
	}()
	<-holding
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Accept(ctx, taken("c1", "r1"), start); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(free)
	flush(t, s)
	if _, err := s.Find(t.Context(), "c1", control.Whose{}); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("it was done all the same: %v", err)
	}
}

// A disk that does not answer holds nobody for ever.
func TestAStuckDisk(t *testing.T) {
	s := opened(t, Options{})
	s.stuck = 10 * time.Millisecond
	holding, free := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	stuck := make(chan error)
	go func() { stuck <- s.ask(ctx, func(*sql.Tx) error { close(holding); <-free; return nil }) }()
	<-holding
	cancel()
	if err := <-stuck; !errors.Is(err, errStuck) {
		t.Errorf("got %v", err)
	}
	close(free)
}

// Events that find no room are dropped and counted; answers are not.
func TestOverload(t *testing.T) {
	s := opened(t, Options{})
	accept(t, s, taken("c1", "r1"))
	holding, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.ask(context.Background(), func(*sql.Tx) error { close(holding); <-free; return nil })
	}()
	<-holding
	const size = 1 << 20
	for seq := range 2 * mostWaiting / size {
		s.Say("c1", seq, false, json.RawMessage(`"`+strings.Repeat("x", size)+`"`))
	}
	s.queue.mu.Lock()
	bytes, dropped := s.queue.bytes, s.queue.dropped
	s.queue.mu.Unlock()
	if bytes > mostWaiting || dropped < mostWaiting/size {
		t.Errorf("%d bytes wait, %d events were dropped", bytes, dropped)
	}
	done := make(chan error, 1)
	go func() { _, err := s.End(context.Background(), answered(taken("c1", "r1"), "x")); done <- err }()
	close(free)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Once the disk is full calls are refused, and they go on when there is room again.
func TestAFullDisk(t *testing.T) {
	onlySQLite(t)
	s := opened(t, Options{})
	accept(t, s, taken("c1", "r1"))
	var pages int
	must(t, s.write.QueryRow("PRAGMA page_count").Scan(&pages))
	limit := func(n int) {
		t.Helper()
		if _, err := s.write.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages)
	big := taken("c2", "r2")
	big.Skill = strings.Repeat("x", 64<<10)
	accept(t, s, big) // where there was room yet
	var refused error
	testutil.Poll(t, time.Minute, func() bool {
		_, refused = s.Accept(t.Context(), taken("c3", fmt.Sprint("r", time.Now().UnixNano())), start)
		return refused != nil
	})
	if !strings.Contains(refused.Error(), "full") {
		t.Errorf("got %v", refused)
	}
	for seq := range 100 {
		s.Say("c1", seq, false, json.RawMessage(`"`+strings.Repeat("x", 4<<10)+`"`))
	}
	if _, err := s.End(t.Context(), answered(taken("c1", "r1"), "fits")); err != nil {
		t.Errorf("events that find no room took the answer with them: %v", err)
	}
	limit(1 << 30)
	if accept(t, s, taken("c4", "r4")) != nil || find(t, s, "c2").Skill != big.Skill || find(t, s, "c4").ID != "c4" {
		t.Error("none is taken in again")
	}
	if r := find(t, s, "c1"); !strings.Contains(string(r.Answer), "fits") {
		t.Errorf("the answer is %s", r.Answer)
	}
}

// A journal whose file is no longer there takes nothing in.
func TestAFileThatWasReplaced(t *testing.T) {
	onlySQLite(t)
	for name, replace := range map[string]func(t *testing.T, path string){
		"removed":  func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"replaced": func(t *testing.T, path string) { must(t, os.Remove(path)); write(t, path, "") },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "hotcell.db")
			s := opened(t, Options{Path: path})
			accept(t, s, taken("c1", "r1"))
			replace(t, path)
			if err := s.Ready(); !errors.Is(err, errReplaced) {
				t.Errorf("ready: %v", err)
			}
			if _, err := s.Accept(t.Context(), taken("c2", "r2"), start); !errors.Is(err, errReplaced) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Events of one call share rows, and come out one by one, whatever lies between them.
func TestPack(t *testing.T) {
	s := opened(t, Options{})
	var late []*op
	say := func(call string, seq int, artifact bool) {
		w := words{call: call, first: seq, last: seq, artifact: artifact, data: fmt.Appendf(nil, `"%s%d"`, call, seq)}
		late = append(late, &op{said: &w, late: true})
	}
	for seq := range 6 {
		say("a", seq, seq == 3)
		say("b", 2*seq, false)
	}
	late = append(late, &op{do: nothing, late: true})
	if n := len(s.pack(late)); n != 1+3+6 {
		t.Errorf("%d ops", n)
	}
	for _, id := range []string{"a", "b"} {
		accept(t, s, taken(id, id))
	}
	still(s)
	s.commit(batch{late: late})
	for _, tt := range []struct {
		id   string
		from int
		want string
	}{
		{"a", 0, `["a0" "a1" "a2" "a3" "a4" "a5"]`}, {"a", 2, `["a2" "a3" "a4" "a5"]`}, {"a", 6, `[]`},
		{"b", 0, `["b0" "b2" "b4" "b6" "b8" "b10"]`}, {"b", 3, `["b4" "b6" "b8" "b10"]`},
	} {
		events, err := s.Events(t.Context(), tt.id, tt.from)
		if got := fmt.Sprintf("%s", events); err != nil || got != tt.want {
			t.Errorf("%s from %d: %s, %v", tt.id, tt.from, got, err)
		}
	}
	w := words{data: make([]byte, rowBytes-10)}
	if w.add(&words{first: 1, last: 1, data: make([]byte, 10)}) {
		t.Error("a row grows without an end")
	}
}

// A skill that talks while nothing can be written does not fill the log: all that is lost is told, now and then.
func TestTheLogIsNotFlooded(t *testing.T) {
	var c clock
	var text strings.Builder
	s := opened(t, Options{Now: c.now, Log: slog.New(slog.NewTextHandler(&text, nil))})
	must(t, s.Close()) // so that this goroutine may be the writer
	bad := func() batch {
		return batch{late: []*op{{late: true, do: func(*sql.Tx) error { return errors.New("disk full") }}}}
	}
	for range 100 {
		s.commit(bad())
		c.add(lamentEvery / 40)
	}
	s.lament(7, errBehind)
	s.lament(0, nil)
	var got []string
	for line := range strings.Lines(text.String()) {
		_, line, _ = strings.Cut(line, "journalled\" ")
		got = append(got, strings.TrimSpace(line))
	}
	if want := []string{"events=1", "events=40", "events=40", "events=26"}; !slices.EqualFunc(got, want, func(g, w string) bool { return strings.HasPrefix(g, w+" error=") }) {
		t.Errorf("told:\n%s", strings.Join(got, "\n"))
	}
}
