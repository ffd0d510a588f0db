package executor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	sqlite "github.com/hotcell/hotcell/internal/store"
)

func journalAt(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Keep: sqlite.Keep{Events: time.Hour, Artifacts: time.Hour, Replay: Replay}})
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

// journalled returns a supervisor of that name with a journal of its own on a shared file.
func journalled(t testing.TB, path, instance string, l life, adjust func(*Config)) *bench {
	t.Helper()
	j := journalAt(t, path)
	return setUp(t, l, func(c *Config) {
		c.Instance, c.Journal = instance, j
		if adjust != nil {
			adjust(c)
		}
	})
}

// owners are the supervisors that are known: true for those that live.
type owners struct {
	mu    sync.Mutex
	known map[string]bool
}

func (o *owners) Alive(instance string) (alive, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	alive, known = o.known[instance]
	return alive, known
}

func (o *owners) set(instance string, alive bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known[instance] = alive
}

func (o *owners) Poisoned([]string) error { return nil }

func sent(name, id string) *a2e.CallRequest {
	return &a2e.CallRequest{Header: a2e.Header{ID: id}, Name: name}
}

func dbPath(t testing.TB) string { return filepath.Join(t.TempDir(), "hotcell.db") }

// What one life answered, the next one knows: by call id, by request id, and when the request is sent again.
func TestAnswersOutliveTheSupervisor(t *testing.T) {
	path := dbPath(t)
	first := journalled(t, path, "one", well, nil)
	answer, events := first.ask(t.Context(), sent("free", "r1"))
	if verdict(answer) != "ok" || len(events) != 2 {
		t.Fatalf("%s, %d events", verdict(answer), len(events))
	}
	first.settle(t)

	next := journalled(t, path, "two", hang, nil)
	again, _ := next.ask(t.Context(), sent("free", "r1"))
	if !sameAnswer(t, answer, again) || next.driver.Stats().Created != 0 {
		t.Errorf("sent again: %+v, %d cells", again, next.driver.Stats().Created)
	}
	other := sent("free", "r1")
	other.Metadata = map[string]any{"x": 1}
	if got, _ := next.ask(t.Context(), other); verdict(got) != "invalid_message/duplicate_id" {
		t.Errorf("another body: %s", verdict(got))
	}
	for _, id := range []string{answer.ID, "r1"} {
		view, stored, err := next.Show(t.Context(), id)
		if err != nil || !sameAnswer(t, answer, stored) || view.State != control.Succeeded || view.Events != 2 || view.Cell == "" {
			t.Errorf("show %s: %+v, %v", id, view, err)
		}
		if told, err := next.Events(t.Context(), id, 1); err != nil || len(told) != 1 || told[0].Seq != 1 || told[0].Kind != a2e.KindLog {
			t.Errorf("events of %s: %+v, %v", id, told, err)
		}
		if err := next.Cancel(t.Context(), id); !errors.Is(err, control.ErrEnded) {
			t.Errorf("cancel %s: %v", id, err)
		}
	}
	if calls, err := next.List(t.Context(), 0); err != nil || len(calls) != 1 || calls[0].ID != answer.ID {
		t.Errorf("list: %+v, %v", calls, err)
	}
}

func sameAnswer(t *testing.T, a, b *a2e.CallResponse) bool {
	t.Helper()
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return string(x) == string(y)
}

// Of calls in flight those of dead supervisors are closed, and no others.
func TestRecover(t *testing.T) {
	path := dbPath(t)
	journal := journalAt(t, path)
	now := time.Now()
	for id, r := range map[string]control.Record{
		"dead":           {Instance: "dead", Call: control.Call{Accepted: now}},
		"dead and ended": {Instance: "dead", Call: control.Call{Accepted: now}},
		"alive":          {Instance: "alive", Call: control.Call{Accepted: now.Add(-time.Hour * 99)}},
		"own, refused":   {Instance: "me", Call: control.Call{Accepted: now}}, // the journal had reported a failure
		"unknown, young": {Instance: "x", Call: control.Call{Accepted: now.Add(-time.Hour)}},
		"unknown, old":   {Instance: "x", Call: control.Call{Accepted: now.Add(-2 * time.Hour)}},
		"unknown, runs":  {Instance: "x", Call: control.Call{Accepted: now.Add(-2 * time.Hour), Deadline: now.Add(-expiry / 2)}},
		"unknown, over":  {Instance: "x", Call: control.Call{Accepted: now.Add(-expiry * 3), Deadline: now.Add(-expiry * 2)}},
	} {
		r.ID, r.ReqID, r.Skill, r.State, r.Digest = id, "r "+id, "free", control.Running, "d"
		if _, err := journal.Accept(t.Context(), r, now.Add(-Replay)); err != nil {
			t.Fatal(err)
		}
		if id == "dead" {
			journal.Say(id, 0, false, json.RawMessage(`{"type":"skill/event","kind":"log","seq":0,"data":{"message":"last words"}}`))
		}
		if id == "dead and ended" {
			settle(&r, json.RawMessage(`{"type":"skill/call/resp","id":"x"}`), nil)
			if _, err := journal.End(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	b := setUp(t, well, func(c *Config) {
		c.Instance, c.Journal, c.Owners = "me", journal, &owners{known: map[string]bool{"dead": false, "alive": true, "me": true}}
	})
	for range 2 { // the second time there is nothing left to do
		if err := b.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{
		"dead": "sandbox_crash/supervisor_restart", "dead and ended": "ok", "alive": "", "own, refused": "runtime_error/internal", "unknown, young": "",
		"unknown, old": "sandbox_crash/supervisor_restart", "unknown, runs": "", "unknown, over": "sandbox_crash/supervisor_restart",
	} {
		view, answer, err := b.Show(t.Context(), id)
		if err != nil {
			t.Fatal(id, err)
		}
		got := ""
		if answer != nil {
			got = verdict(answer)
		}
		if got != want || view.State.Terminal() != (want != "") {
			t.Errorf("%s: %q, %s", id, got, view.State)
		}
		if strings.HasPrefix(want, "sandbox") {
			complete(t, id, view, answer)
		}
		if id == "dead" && (view.Events != 1 || len(answer.Data.Events) != 1 || answer.Data.Events[0].Data["message"] != "last words") {
			t.Errorf("what it said is lost: %+v %+v", view, answer.Data.Events)
		}
	}
}

// complete checks an answer that stands for one that never came.
func complete(t *testing.T, id string, view control.Call, answer *a2e.CallResponse) {
	t.Helper()
	e := answer.Error
	if answer.ID != id || answer.ReqID != "r "+id || answer.Name != "free" || answer.Type != a2e.TypeCallResponse ||
		e.Detail["call_id"] != id || !e.Retryable || answer.Data == nil || answer.Data.Success || *answer.Data.ErrorCode != string(a2e.SandboxCrash) {
		t.Errorf("%s: %+v %+v", id, answer, e)
	}
	if view.State != control.Failed || view.Code != a2e.SandboxCrash || view.Reason != a2e.ReasonSupervisorRestart || view.Ended.IsZero() {
		t.Errorf("%s: %+v", id, view)
	}
}

// The same request at two supervisors that live runs once, and both answer alike.
func TestTwoSupervisorsRunARequestOnce(t *testing.T) {
	path := dbPath(t)
	alive := &owners{known: map[string]bool{"one": true, "two": true}}
	began, free := make(chan struct{}, 2), make(chan struct{})
	slow := func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
		began <- struct{}{}
		<-free
		return well(ctx, req, in, say)
	}
	one := journalled(t, path, "one", slow, func(c *Config) { c.Owners = alive })
	two := journalled(t, path, "two", slow, func(c *Config) { c.Owners = alive })
	answers := make(chan *a2e.CallResponse, 2)
	var asking sync.WaitGroup
	ask := func(b *bench) {
		asking.Go(func() { answer, _ := b.ask(context.Background(), sent("free", "r1")); answers <- answer })
	}
	ask(one)
	<-began
	stranger := two
	id := newestID(t, stranger)
	if err := stranger.Cancel(t.Context(), id); !errors.Is(err, control.ErrElsewhere) {
		t.Errorf("cancelled from elsewhere: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, _ := stranger.ask(ctx, sent("free", "r1")); verdict(got) != "runtime_error/cancelled" || got.ID != id {
		t.Errorf("one who does not wait: %s of %s", verdict(got), got.ID)
	}
	ask(two)
	time.Sleep(50 * time.Millisecond) // for it to wait; the answer is the same if it comes later
	close(free)
	asking.Wait()
	if a, b := <-answers, <-answers; verdict(a) != "ok" || !sameAnswer(t, a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
	if n := one.driver.Stats().Created + two.driver.Stats().Created; n != 1 {
		t.Errorf("%d cells", n)
	}
}

func newestID(t *testing.T, b *bench) string {
	t.Helper()
	calls, err := b.List(t.Context(), 1)
	if err != nil || len(calls) != 1 {
		t.Fatalf("%+v, %v", calls, err)
	}
	return calls[0].ID
}

// Who waits for a supervisor that dies is told so at once.
func TestTheOtherSupervisorDies(t *testing.T) {
	path := dbPath(t)
	who := &owners{known: map[string]bool{"dying": true, "two": true}}
	journal := journalAt(t, path)
	r := sent("free", "r1")
	lost := control.Record{
		Call:   control.Call{ID: "c1", ReqID: "r1", Skill: "free", State: control.Running, Accepted: time.Now()},
		Digest: r.Digest(), Instance: "dying",
	}
	if _, err := journal.Accept(t.Context(), lost, time.Now()); err != nil {
		t.Fatal(err)
	}
	b := journalled(t, path, "two", well, func(c *Config) { c.Owners = who })
	answers := make(chan *a2e.CallResponse, 1)
	var asking sync.WaitGroup
	asking.Go(func() { answer, _ := b.ask(context.Background(), r); answers <- answer })
	select {
	case got := <-answers:
		t.Fatalf("it did not wait: %s", verdict(got))
	case <-time.After(50 * time.Millisecond):
	}
	who.set("dying", false)
	if got := <-answers; verdict(got) != "sandbox_crash/supervisor_restart" || got.ID != "c1" {
		t.Errorf("%s of %s", verdict(got), got.ID)
	}
	asking.Wait()
	if got, _ := b.ask(t.Context(), r); verdict(got) != "sandbox_crash/supervisor_restart" || b.driver.Stats().Created != 0 {
		t.Errorf("sent again: %s, %d cells", verdict(got), b.driver.Stats().Created)
	}
}

// An answer that says nothing about the request is no obstacle, wherever it was given.
func TestACancelledRequestRunsElsewhere(t *testing.T) {
	path := dbPath(t)
	one := journalled(t, path, "one", hang, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, _ := one.ask(ctx, sent("free", "r1")); verdict(got) != "runtime_error/cancelled" {
		t.Fatal(verdict(got))
	}
	two := journalled(t, path, "two", well, nil)
	if got, _ := two.ask(t.Context(), sent("free", "r1")); verdict(got) != "ok" {
		t.Error(verdict(got))
	}
}

// broken is a journal whose parts can fail.
type broken struct {
	Journal
	accept, end atomic.Pointer[error]
}

func (b *broken) Accept(ctx context.Context, r control.Record, since time.Time) (*control.Record, error) {
	if err := b.accept.Load(); err != nil {
		return nil, *err
	}
	return b.Journal.Accept(ctx, r, since)
}

func (b *broken) End(ctx context.Context, r control.Record) (control.Record, error) {
	if err := b.end.Load(); err != nil {
		return r, *err
	}
	return b.Journal.End(ctx, r)
}

var errDisk = errors.New("no space left on device")

// A call that cannot be journalled is refused before anything is made for it, and the next one runs again.
func TestNoJournalNoCall(t *testing.T) {
	j := &broken{Journal: journalAt(t, dbPath(t))}
	b := setUp(t, well, func(c *Config) { c.Journal = j })
	j.accept.Store(&errDisk)
	got, _ := b.ask(t.Context(), sent("free", "r1"))
	if verdict(got) != "runtime_error/internal" || !got.Error.Retryable || !strings.Contains(got.Error.Message, "journal") {
		t.Errorf("%s: %+v", verdict(got), got.Error)
	}
	if strings.Contains(got.Error.Message, errDisk.Error()) {
		t.Error("the caller is told about the disk")
	}
	if n := b.driver.Stats().Created; n != 0 || b.watch.accepted != 0 {
		t.Errorf("%d cells, %d calls", n, b.watch.accepted)
	}
	if calls, err := b.List(t.Context(), 0); err != nil || len(calls) != 0 {
		t.Errorf("it is listed: %+v, %v", calls, err)
	}
	j.accept.Store(nil)
	if got, _ := b.ask(t.Context(), sent("free", "r1")); verdict(got) != "ok" {
		t.Error(verdict(got))
	}
}

// A call that was taken in although the journal reported a failure stands in nobody's way.
func TestAcceptedAfterAll(t *testing.T) {
	j := &broken{Journal: journalAt(t, dbPath(t))}
	b := setUp(t, well, func(c *Config) { c.Journal = j })
	r := sent("free", "r1")
	ghost := control.Record{Call: control.Call{ID: "ghost", ReqID: "r1", Skill: "free", Accepted: time.Now()}, Digest: r.Digest(), Instance: "test"}
	if _, err := j.Accept(t.Context(), ghost, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got, _ := b.ask(t.Context(), r); verdict(got) != "ok" {
		t.Error(verdict(got))
	}
	if _, answer, err := b.Show(t.Context(), "ghost"); err != nil || verdict(answer) != "runtime_error/internal" {
		t.Errorf("%+v, %v", answer, err)
	}
}

// A supervisor that has nothing left to do but to journal an answer says so when its time is over.
func TestDrainOfAnAnswerThatIsNotJournalled(t *testing.T) {
	for name, want := range map[string]error{"in vain": ErrUnjournalled, "at the last moment": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &broken{Journal: Forgetful}
				j.end.Store(&errDisk)
				b := setUp(t, well, func(c *Config) { c.Journal = j })
				if got, _ := b.ask(t.Context(), sent("free", "r1")); verdict(got) != "ok" {
					t.Fatal(verdict(got))
				}
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if want == nil {
					defer context.AfterFunc(ctx, func() { j.end.Store(nil) })()
					ctx, cancel = context.WithTimeout(t.Context(), time.Minute+time.Millisecond)
					defer cancel()
				}
				if err := b.Drain(ctx); !errors.Is(err, want) {
					t.Errorf("drain: %v, want %v", err, want)
				}
				if took := time.Since(began); took < time.Minute || took > time.Minute+time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// An answer that cannot be journalled is given all the same, and journalled as soon as it can be.
func TestAnAnswerIsJournalledAtLast(t *testing.T) {
	path := dbPath(t)
	j := &broken{Journal: journalAt(t, path)}
	b := setUp(t, well, func(c *Config) { c.Journal = j })
	j.end.Store(&errDisk)
	answer, _ := b.ask(t.Context(), sent("free", "r1"))
	if verdict(answer) != "ok" {
		t.Fatal(verdict(answer))
	}
	if r, err := j.Find(t.Context(), answer.ID, control.Whose{}); err != nil || r.Answer != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	b.calls.mu.Lock()
	b.calls.bytes += keepBytes // the next call's end makes it forget all that it may
	b.calls.mu.Unlock()
	if other, _ := b.ask(t.Context(), sent("free", "r2")); verdict(other) != "ok" {
		t.Fatal(verdict(other))
	}
	if err := b.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, _ := b.ask(t.Context(), sent("free", "r1")); !sameAnswer(t, answer, again) {
		t.Errorf("sent again: %+v", again)
	}
	j.end.Store(nil)
	b.settle(t) // waits for it
	if r, err := j.Find(t.Context(), answer.ID, control.Whose{}); err != nil || !sameAnswer(t, answer, answerOf(r.Answer)) {
		t.Errorf("%+v, %v", r, err)
	}
}

// Where somebody closed the call before its answer could be journalled, two answers were given, and the log says so.
func TestAnAnswerIsJournalledTooLate(t *testing.T) {
	path := dbPath(t)
	j := &broken{Journal: journalAt(t, path)}
	var log bytes.Buffer // written by one handler, read at the end
	one := setUp(t, well, func(c *Config) { c.Instance, c.Journal, c.Log = "one", j, slog.New(slog.NewTextHandler(&log, nil)) })
	j.end.Store(&errDisk)
	if answer, _ := one.ask(t.Context(), sent("free", "r1")); verdict(answer) != "ok" {
		t.Fatal(verdict(answer))
	}
	two := journalled(t, path, "two", well, func(c *Config) { c.Owners = &owners{known: map[string]bool{"one": false}} })
	if err := two.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.end.Store(nil)
	one.settle(t)
	if text := log.String(); !strings.Contains(text, "another one stands") || strings.Contains(text, "journalled at last") {
		t.Error(text)
	}
}

// If somebody closed a call that ran all the while, the caller hears what was closed: there is one answer.
func TestClosedByMistake(t *testing.T) {
	path := dbPath(t)
	began, free := make(chan struct{}), make(chan struct{})
	one := journalled(t, path, "one", func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
		close(began)
		<-free
		return well(ctx, req, in, say)
	}, nil)
	answers := make(chan *a2e.CallResponse, 1)
	var asking sync.WaitGroup
	asking.Go(func() { answer, _ := one.ask(context.Background(), sent("free", "r1")); answers <- answer })
	<-began
	two := journalled(t, path, "two", well, func(c *Config) { c.Owners = &owners{known: map[string]bool{"one": false}} })
	if err := errors.Join(one.Recover(t.Context()), two.Recover(t.Context())); err != nil { // who works on it leaves it alone
		t.Fatal(err)
	}
	close(free)
	got := <-answers
	asking.Wait()
	_, stored, err := two.Show(t.Context(), "r1")
	if err != nil || verdict(got) != "sandbox_crash/supervisor_restart" || !sameAnswer(t, got, stored) {
		t.Errorf("%s, stored %+v, %v", verdict(got), stored, err)
	}
	if one.watch.codes[0] != "sandbox_crash/supervisor_restart" {
		t.Error(one.watch.codes)
	}
}

// More events than this process keeps are in the journal, and are told without a gap.
func TestEventsBeyondMemory(t *testing.T) {
	const n = 3 * keepEvents
	b := journalled(t, dbPath(t), "one", func(_ context.Context, _ map[string]any, in *bufio.Reader, say func(string, ...any)) int {
		for i := range n {
			say(`{"type":"skill/event","kind":"log","data":{"level":"info","message":"%d"}}`, i)
		}
		say(`{"type":"skill/result","success":true}`)
		say(`{"type":"cell/exit","exit_code":0,"oom_kills":0}`)
		_, _ = in.ReadBytes('\n')
		return 0
	}, nil)
	answer, _ := b.ask(t.Context(), sent("free", "r1"))
	seq := 0
	for limit := time.Now().Add(20 * time.Second); seq < n && time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		events, err := b.Events(t.Context(), answer.ID, seq)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if ev.Seq != seq || ev.Data["message"] != fmt.Sprint(seq) {
				t.Fatalf("event %d is %+v", seq, ev)
			}
			seq++
		}
	}
	if seq != n {
		t.Errorf("%d events", seq)
	}
}

func TestMerged(t *testing.T) {
	list := func(seqs ...int) (events []a2e.Event) {
		for _, s := range seqs {
			events = append(events, a2e.Event{Seq: s})
		}
		return events
	}
	for name, tt := range map[string]struct{ kept, here, want []a2e.Event }{
		"nothing":          {nil, nil, nil},
		"no journal":       {nil, list(0, 1, 5), list(0, 1, 5)},
		"only the journal": {list(3, 4), nil, list(3, 4)},
		"same":             {list(0, 1), list(0, 1), list(0, 1)},
		"journal behind":   {list(0, 1), list(0, 1, 2, 3), list(0, 1, 2, 3)},
		"gap behind":       {list(0, 1), list(0, 1, 2, 7), list(0, 1, 2)},
		"journal ahead":    {list(0, 1, 2, 3), list(0, 1), list(0, 1, 2, 3)},
		"hole":             {list(0, 3), list(0, 1, 2, 3), list(0, 1, 2, 3)},
		"artifacts only":   {list(2), list(0, 1, 2, 3), list(0, 1, 2, 3)},
	} {
		got := merged(tt.kept, tt.here)
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// No credential is in any of the journal's files, also not in the log that has not been copied yet.
func TestCredentialsAreNotJournalled(t *testing.T) {
	const canary = "sk-CANARY-4711"
	path := dbPath(t)
	b := journalled(t, path, "one", well, nil)
	r := sent("free", "r1")
	r.LLMOverride = &a2e.LLMConfig{
		ProviderName:        "openai",
		ProviderCredentials: map[string]any{"api_key": canary},
		ProviderConfig:      map[string]any{"base_url": "https://" + canary, "headers": map[string]any{"x": canary}},
	}
	if got, _ := b.ask(t.Context(), r); verdict(got) != "unauthorized/" {
		t.Error(verdict(got))
	}
	plain := sent("free", "marker-of-this-test")
	plain.Arguments = map[string]any{"token": canary} // what a call was asked is not journalled at all
	if got, _ := b.ask(t.Context(), plain); verdict(got) != "ok" {
		t.Error(verdict(got))
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	found := false
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), canary) {
			t.Errorf("%s holds the credential", filepath.Base(f))
		}
		found = found || strings.Contains(string(data), "marker-of-this-test")
	}
	if !found {
		t.Error("this test looks at the wrong files")
	}
}

// undecided refuses one request, once the test says so.
type undecided struct {
	Journal
	asked, decide chan struct{}
}

func (u undecided) Accept(ctx context.Context, r control.Record, since time.Time) (*control.Record, error) {
	if r.ReqID != "unlucky" {
		return u.Journal.Accept(ctx, r, since)
	}
	close(u.asked)
	<-u.decide
	return nil, errors.New("the disk is full")
}

// A call that is refused while others end is not left in the number of those in flight, which nobody would tell again.
func TestARefusedCallIsNotInFlight(t *testing.T) {
	u := undecided{Forgetful, make(chan struct{}), make(chan struct{})}
	b := setUp(t, well, func(c *Config) { c.Journal = u })
	unlucky := req("free")
	unlucky.ID = "unlucky"
	refused := make(chan string)
	go func() { answer, _ := b.ask(context.Background(), unlucky); refused <- verdict(answer) }()
	<-u.asked
	if answer, _ := b.ask(t.Context(), req("free")); verdict(answer) != "ok" {
		t.Errorf("the other: %v", answer.Error)
	}
	close(u.decide)
	if got := <-refused; got != "runtime_error/internal" {
		t.Errorf("got %s", got)
	}
	if b.watch.flight != 0 {
		t.Errorf("%d are in flight", b.watch.flight)
	}
}

// Who hangs up while another one's call is at its end disturbs nobody.
func TestHangingUpOnAnothersCall(t *testing.T) {
	for range 20 {
		l, began, free := heldBack()
		b := setUp(t, l, nil)
		var asking sync.WaitGroup
		asking.Go(func() {
			if answer, _ := b.ask(context.Background(), sent("free", "r1")); verdict(answer) != "ok" {
				t.Errorf("the call: %s", verdict(answer))
			}
		})
		<-began
		ctx, hangUp := context.WithCancel(t.Context())
		asking.Go(func() {
			answer, _ := b.ask(ctx, sent("free", "r1"))
			if got := verdict(answer); got != "ok" && got != "runtime_error/cancelled" || answer.ReqID != "r1" || answer.Name != "free" {
				t.Errorf("who hung up: %s: %+v", got, answer)
			}
		})
		time.AfterFunc(2*time.Millisecond, hangUp)
		time.AfterFunc(2*time.Millisecond, func() { close(free) })
		asking.Wait()
	}
}
