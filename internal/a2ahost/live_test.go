package a2ahost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// A listener that does not read is cut off; the others and the skill go on.
func TestStreamsThatAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h, err := New(Options{Handler: f, Control: f, Skills: f, Patience: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		const events = 3 * mostUpdates
		joined := make(chan struct{})
		task, first, err := h.begin(a2e.Caller{}, newIdentity("", false), false, "x", func(ctx context.Context, w a2e.EventWriter) *a2e.CallResponse {
			<-joined
			for i := range events {
				if err := w.WriteEvent(ctx, &a2e.Event{Kind: a2e.KindLog, Seq: i, Data: map[string]any{"message": fmt.Sprint(i)}}); err != nil {
					t.Error(err)
				}
			}
			return &a2e.CallResponse{Data: &a2e.Result{Success: true}}
		})
		if err != nil {
			t.Fatal(err)
		}
		var idle []*stream
		for range 3 {
			s, _, _ := task.join()
			idle = append(idle, s)
		}
		began := time.Now()
		close(joined)
		n := 0
		if err := task.follow(context.Background(), first, func(a2a.Event) error { n++; return nil }); err != nil || n != events+1 {
			t.Errorf("the one that reads got %d updates, %v", n, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("three that do not read held it up for %s", took)
		}
		for _, s := range idle {
			err := task.follow(context.Background(), s, func(a2a.Event) error { return nil })
			if !errors.Is(err, errBusy) || !strings.Contains(err.Error(), "subscribe") {
				t.Errorf("got %v", err)
			}
		}
		h.Close()
	})
}

// Patience with listeners is for all of them together, up to the end of the task.
func TestStreamsThatLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h, err := New(Options{Handler: f, Control: f, Skills: f, Patience: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		task, s, err := h.begin(a2e.Caller{}, newIdentity("", false), false, "x", func(ctx context.Context, w a2e.EventWriter) *a2e.CallResponse {
			for i := range 100 {
				_ = w.WriteEvent(ctx, &a2e.Event{Kind: a2e.KindLog, Seq: i})
			}
			return &a2e.CallResponse{Data: &a2e.Result{Success: true}}
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it is waited for
		began := time.Now()
		task.leave(s)
		<-task.done
		if took := time.Since(began); took != 0 {
			t.Errorf("a listener that has left was waited for: %s", took)
		}
		h.Close()
	})
}

func TestTasksInFlightAreBounded(t *testing.T) {
	f := newFake()
	h, err := New(Options{Handler: f, Control: f, Skills: f})
	if err != nil {
		t.Fatal(err)
	}
	wait := func(ctx context.Context, _ a2e.EventWriter) *a2e.CallResponse {
		<-ctx.Done()
		return a2e.Failure("", "", cancelled(), 0)
	}
	id := newIdentity("", false)
	if _, _, err := h.begin(a2e.Caller{}, id, false, "x", wait); err != nil {
		t.Fatal(err)
	}
	_, _, err = h.begin(a2e.Caller{}, id, false, "x", wait)
	is(t, err, a2a.ErrUnsupportedOperation)
	for range mostLive - 1 {
		if _, _, err := h.begin(a2e.Caller{}, newIdentity("", false), false, "x", wait); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = h.begin(a2e.Caller{}, newIdentity("", false), false, "x", wait)
	is(t, err, errBusy)
	h.Close()
	_, _, err = h.begin(a2e.Caller{}, newIdentity("", false), false, "x", wait)
	is(t, err, errBusy)
	code, body := faultf(errBusy, "busy").body()
	if code != http.StatusServiceUnavailable || body.Error.Status != "UNAVAILABLE" {
		t.Errorf("got %d %+v", code, body)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newMemory()
	text := strings.Repeat("x", 40<<10)
	for i := range 3 * mostRemembered {
		m.note("ann", fmt.Sprint(i), &message{Parts: []*part{{Text: &text}}}, len(text))
		if m.bytes > rememberedBytes || m.order.Len() > mostRemembered || m.order.Len() != len(m.byTask) {
			t.Fatalf("%d bytes in %d entries", m.bytes, m.order.Len())
		}
	}
	last := fmt.Sprint(3*mostRemembered - 1)
	if len(m.turns("ann", last)) != 1 || len(m.turns("ann", "0")) != 0 || len(m.turns("bob", last)) != 0 {
		t.Error("the newest of one's own are what is remembered")
	}
	m.note("ann", "large", &message{}, mostOfOne+1)
	if len(m.turns("ann", "large")) != 0 {
		t.Error("a message of that size should be forgotten")
	}
	for range 3 * mostTurns {
		m.note("ann", "long", &message{}, 1)
	}
	if n := len(m.turns("ann", "long")); n != mostTurns {
		t.Errorf("%d turns are remembered", n)
	}
}

// A task of another process with the same journal can be followed too.
func TestSubscribeElsewhere(t *testing.T) {
	f := usual()
	first, second := open(t, f), open(t, f)
	a := first.client(a2a.TransportProtocolJSONRPC, "")
	for _, b := range bindings() {
		task := sent(t, a, atOnce(asks("wait")))
		first.state(a, task.ID, a2a.TaskStateWorking)
		var got []string
		for ev, err := range second.client(b, "").SubscribeToTask(within(t), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			if one, ok := ev.(*a2a.Task); ok {
				got = append(got, "TASK "+whole(one))
				close(f.release)
				continue
			}
			got = append(got, told(ev))
		}
		if diff := cmp.Diff([]string{"TASK early.txt=early", "WORKING released", "result last", "COMPLETED "}, got); diff != "" {
			t.Error(diff)
		}
		f.release = make(chan struct{})
	}
}

// What a late stream is told first may be large: then artifacts follow in pieces, and nothing of them twice.
func TestLateStreams(t *testing.T) {
	f := newFake(hosted(), entry("huge", anything))
	piece := strings.Repeat("z", 512<<10)
	gate := make(chan struct{})
	h, err := New(Options{Handler: f, Control: f, Skills: f})
	if err != nil {
		t.Fatal(err)
	}
	id, who := newIdentity("", false), a2e.Caller{Door: door}
	k := &kept{view: control.Call{ID: "HUGE", ReqID: id.task, Door: door, Skill: "huge", State: control.Running, Started: time.Now()}}
	said := make(chan struct{})
	say := func(w a2e.EventWriter, i int, final bool) {
		ev := a2e.Event{Kind: a2e.KindArtifact, Seq: i, Data: artifact("huge.bin", piece, final)}
		f.mu.Lock()
		k.events, k.view.Events = append(k.events, ev), i+1
		f.mu.Unlock()
		_ = w.WriteEvent(context.Background(), &ev)
	}
	task, first, err := h.begin(who, id, false, "huge", func(_ context.Context, w a2e.EventWriter) *a2e.CallResponse {
		f.mu.Lock()
		f.calls = append(f.calls, k)
		f.mu.Unlock()
		for i := range 12 {
			say(w, i, false)
		}
		close(said)
		<-gate
		say(w, 12, true)
		answer := &a2e.CallResponse{Data: &a2e.Result{Success: true}}
		f.mu.Lock()
		defer f.mu.Unlock()
		k.end(answer)
		return answer
	})
	if err != nil {
		t.Fatal(err)
	}
	task.leave(first)
	<-said
	var content []byte
	var updates int
	err = h.subscribe(context.Background(), who, &taskParams{ID: id.task}, func(ev a2a.Event) error {
		switch u := ev.(type) {
		case *a2a.Task:
			if len(u.Artifacts) != 0 {
				t.Errorf("got %d artifacts", len(u.Artifacts))
			}
			close(gate)
		case *a2a.TaskArtifactUpdateEvent:
			if u.Append != (updates > 0) {
				t.Errorf("update %d: append is %v", updates, u.Append)
			}
			updates++
			content = append(content, u.Artifact.Parts[0].Raw()...)
		}
		return nil
	})
	if err != nil || string(content) != strings.Repeat(piece, 13) {
		t.Errorf("got %d bytes, %v", len(content), err)
	}
	h.Close()
}

// What the journal lost, or keeps no longer, is said to be missing.
func TestIncompleteArtifacts(t *testing.T) {
	f := usual()
	r := open(t, f)
	c := r.client(a2a.TransportProtocolJSONRPC, "")
	task := sent(t, c, asks("events"))
	f.mu.Lock()
	k := f.calls[len(f.calls)-1]
	k.events = append(k.events[:3:3], k.events[4:]...)
	f.mu.Unlock()
	got, err := c.GetTask(within(t), &a2a.GetTaskRequest{ID: task.ID})
	if err != nil || got.Artifacts[0].Metadata["complete"] != false || whole(got) != `hello.txt=Hello, ld result={"n":12345678901234567000}` {
		t.Errorf("got %+v %s, %v", got.Artifacts[0], whole(got), err)
	}
}

// A journal that is a little behind is waited for.
func TestJournalThatLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := usual()
		h, err := New(Options{Handler: f, Control: f, Skills: f})
		if err != nil {
			t.Fatal(err)
		}
		id := newIdentity("", false)
		who := a2e.Caller{Door: door}
		f.Call(context.Background(), who, &a2e.CallRequest{Header: a2e.Header{ID: id.task}, Name: "events"}, nil)
		late := f.calls[0].events[2:]
		f.calls[0].events = f.calls[0].events[:2]
		go func() {
			time.Sleep(300 * time.Millisecond)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.calls[0].events = append(f.calls[0].events, late...)
		}()
		got, err := h.getTask(context.Background(), who, &taskParams{ID: id.task})
		if err != nil || string(got.Artifacts[0].Parts[0].Raw()) != "Hello, world" || got.Artifacts[0].Metadata != nil {
			t.Errorf("got %+v, %v", got.Artifacts[0], err)
		}
		f.calls[0].events = f.calls[0].events[:3]
		got, err = h.getTask(context.Background(), who, &taskParams{ID: id.task})
		if err != nil || got.Artifacts[0].Metadata["complete"] != false {
			t.Errorf("got %+v, %v", got.Artifacts[0], err)
		}
		h.Close()
	})
}

// A call may take longer than the listener waits for requests and for answers.
func TestCallsOutliveTheListenersLimits(t *testing.T) {
	f := usual()
	h, err := New(Options{Handler: f, Control: f, Skills: f, Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const limit = 200 * time.Millisecond
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.Operations().ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), auth.Nobody())))
	}))
	srv.Config.ReadTimeout, srv.Config.WriteTimeout = limit, limit
	srv.Start()
	defer srv.Close()
	go func() {
		time.Sleep(3 * limit) // past both
		close(f.release)
	}()
	r := &rig{t: t, f: f, h: h, url: srv.URL, http: srv.Client()}
	body := sendBody(`{"data":{}}`, `"metadata":{"skill":"wait"}`)
	got := make(chan reply, 3)
	for path, body := range map[string]string{"/a2a/rpc": rpcCall("SendMessage", body), "/a2a/message:send": body, "/a2a/message:stream": body} {
		go func() {
			var one reply
			defer func() { got <- one }()
			one = r.raw("POST", path, body)
		}()
	}
	for range 3 {
		if got := <-got; got.status != 200 || !strings.Contains(string(got.body), "TASK_STATE_COMPLETED") {
			t.Errorf("got %d %s", got.status, got.body)
		}
	}
}

// A cell's events are hostile: whatever is in them, a stream goes on.
func TestOddEvents(t *testing.T) {
	tell := newTeller(newIdentity("", false))
	for _, ev := range []*a2e.Event{
		{}, {Kind: "x", Data: map[string]any{"message": 7}}, {Kind: a2e.KindArtifact}, {Kind: a2e.KindArtifact, Data: map[string]any{"name": "x", "chunk": "*"}},
		{Kind: a2e.KindArtifact, Data: map[string]any{"name": "", "chunk": ""}}, {Header: a2e.Header{TS: -1}}, {Header: a2e.Header{TS: 1e300}},
		{Kind: a2e.KindStatus, Data: map[string]any{"message": "\x00\xff"}},
	} {
		update, ok := tell.tell(ev).(*a2a.TaskStatusUpdateEvent)
		if !ok || update.Status.State != a2a.TaskStateWorking {
			t.Errorf("%+v: got %+v", ev, update)
		}
	}
}
