package a2ahost

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

func TestSendWaitsForTheEnd(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		q := asks("events")
		q.Message.ContextID = "my context"
		task := sent(t, c, q)
		if task.Status.State != a2a.TaskStateCompleted || task.ContextID != "my context" || task.Status.Timestamp == nil {
			t.Fatalf("got %+v", task)
		}
		if got := whole(task); got != "hello.txt=Hello, world result={\"n\":12345678901234567000}" {
			t.Errorf("got %s", got)
		}
		if task.Metadata["skill"] != "events" || task.Metadata["callId"] == "" || task.Metadata["durationMs"] != 7.0 {
			t.Errorf("got metadata %v", task.Metadata)
		}
		var said []string
		for _, m := range task.History {
			if m.TaskID != task.ID || m.ContextID != task.ContextID || m.ID == "" {
				t.Errorf("a message of another task: %+v", m)
			}
			said = append(said, string(m.Role)+" "+m.Parts[0].Text())
		}
		want := []string{"ROLE_USER ", "ROLE_AGENT begun", "ROLE_AGENT a line", "ROLE_AGENT nearly there"}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Error(diff)
		}
		again, err := c.GetTask(within(t), &a2a.GetTaskRequest{ID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(task, again); diff != "" {
			t.Errorf("the task that is asked for is another one (-sent +got): %s", diff)
		}
	})
}

// whole writes a task's artifacts down.
func whole(task *a2a.Task) string {
	var all []string
	for _, one := range task.Artifacts {
		p := one.Parts[0]
		switch {
		case p.Raw() != nil:
			all = append(all, one.Name+"="+string(p.Raw()))
		case p.Data() != nil:
			b, _ := json.Marshal(p.Data())
			all = append(all, one.Name+"="+string(b))
		default:
			all = append(all, one.Name+"="+p.Text())
		}
	}
	return strings.Join(all, " ")
}

func TestNumbersStayWhole(t *testing.T) {
	r := open(t, usual())
	got := r.rpc(rpcCall("SendMessage", sendBody(`{"data":{"n":12345678901234567890,"x":1.10}}`, `"metadata":{"skill_id":"echo"}`)))
	if !strings.Contains(string(got.Result), `{"n":12345678901234567890,"x":1.10}`) {
		t.Errorf("got %s", got.Result)
	}
}

func TestStreamOrder(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		all := streamed(t, c, asks("events"))
		task, ok := all[0].(*a2a.Task)
		if !ok || task.Status.State != a2a.TaskStateSubmitted {
			t.Fatalf("a stream begins with its task, not with %+v", all[0])
		}
		var got []string
		for _, ev := range all[1:] {
			if ev.TaskInfo() != task.TaskInfo() {
				t.Errorf("an event of another task: %+v", ev)
			}
			got = append(got, told(ev))
		}
		want := []string{
			"WORKING begun", "WORKING a line", "hello.txt Hello, ", "hello.txt + wor", "hello.txt + ld last", "WORKING nearly there", "result last", "COMPLETED ",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if progress := all[1].Meta(); progress["kind"] != "progress" || progress["data"].(map[string]any)["pct"] != 10.0 {
			t.Errorf("got %v", progress)
		}
	})
}

func told(ev a2a.Event) string {
	switch u := ev.(type) {
	case *a2a.TaskStatusUpdateEvent:
		text := ""
		if u.Status.Message != nil {
			text = u.Status.Message.Parts[0].Text()
		}
		return strings.TrimPrefix(string(u.Status.State), "TASK_STATE_") + " " + text
	case *a2a.TaskArtifactUpdateEvent:
		text := u.Artifact.Name
		if u.Append {
			text += " +"
		}
		if raw := u.Artifact.Parts[0].Raw(); raw != nil {
			text += " " + string(raw)
		}
		if u.LastChunk {
			text += " last"
		}
		return text
	}
	return "?"
}

func TestOutcomes(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		for _, code := range []a2e.Code{a2e.SkillError, a2e.RuntimeError, a2e.Timeout, a2e.OutOfMemory, a2e.SandboxCrash, a2e.SchemaViolation, a2e.Unauthorized} {
			task := sent(t, c, asks("fail", a2a.NewDataPart(map[string]any{"code": string(code)})))
			m := task.Metadata
			if task.Status.State != a2a.TaskStateFailed || m["error_code"] != string(code) || m["reason"] != "because" || m["retryable"] != code.Retryable() {
				t.Errorf("%s: got %s %v", code, task.Status.State, m)
			}
			if m["detail"].(map[string]any)["fact"] != 1.0 || task.Status.Message.Parts[0].Text() != "it went wrong" {
				t.Errorf("%s: got %v %v", code, m["detail"], task.Status.Message)
			}
		}
		task := sent(t, c, asks("summary"))
		if task.Status.Message.Parts[0].Text() != "all is well" || task.Status.Message.Role != a2a.MessageRoleAgent || task.Artifacts[0].Metadata["truncated"] != true {
			t.Errorf("got %+v %v", task.Status.Message, task.Artifacts[0].Metadata)
		}
		if task := sent(t, c, asks("nothing")); task.Status.State != a2a.TaskStateCompleted || len(task.Artifacts) != 0 {
			t.Errorf("got %+v", task)
		}
	})
}

func TestReturnImmediately(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		task := sent(t, c, atOnce(asks("wait")))
		if task.Status.State.Terminal() {
			t.Fatalf("got %s", task.Status.State)
		}
		r.state(c, task.ID, a2a.TaskStateWorking)
		close(r.f.release)
		if task = r.state(c, task.ID, a2a.TaskStateCompleted); whole(task) != `early.txt=early result={"waited":true}` {
			t.Errorf("got %s", whole(task))
		}
	})
}

func TestCancel(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		task := sent(t, c, atOnce(asks("wait")))
		r.state(c, task.ID, a2a.TaskStateWorking)
		got, err := c.CancelTask(within(t), &a2a.CancelTaskRequest{ID: task.ID})
		if err != nil || got.Status.State != a2a.TaskStateCanceled || got.ID != task.ID {
			t.Fatalf("got %+v, %v", got, err)
		}
		_, err = c.CancelTask(within(t), &a2a.CancelTaskRequest{ID: task.ID})
		is(t, err, a2a.ErrTaskNotCancelable)
		done := sent(t, c, asks("echo"))
		_, err = c.CancelTask(within(t), &a2a.CancelTaskRequest{ID: done.ID})
		is(t, err, a2a.ErrTaskNotCancelable)
	})
}

// A task whose process has another part of its life is cancelled through the supervisor.
func TestCancelOfAnotherDoor(t *testing.T) {
	f := usual()
	first, second := open(t, f), open(t, f)
	a, b := first.client(a2a.TransportProtocolJSONRPC, ""), second.client(a2a.TransportProtocolJSONRPC, "")
	task := sent(t, a, atOnce(asks("wait")))
	first.state(a, task.ID, a2a.TaskStateWorking)
	if _, err := b.CancelTask(within(t), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
		t.Fatal(err)
	}
	second.state(b, task.ID, a2a.TaskStateCanceled)
}

func TestSubscribe(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		task := sent(t, c, atOnce(asks("wait")))
		r.state(c, task.ID, a2a.TaskStateWorking)
		type ending struct {
			all []string
			err error
		}
		ends := make(chan ending, 3)
		joined := make(chan struct{}, 3)
		for range 3 {
			go func() {
				var e ending
				for ev, err := range c.SubscribeToTask(within(t), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
					if err != nil {
						e.err = err
						break
					}
					if first, ok := ev.(*a2a.Task); ok {
						e.all = append(e.all, "TASK "+whole(first))
						joined <- struct{}{}
						continue
					}
					e.all = append(e.all, told(ev))
				}
				ends <- e
			}()
		}
		for range 3 {
			<-joined
		}
		close(r.f.release)
		want := []string{"TASK early.txt=early", "WORKING released", "result last", "COMPLETED "}
		for range 3 {
			e := <-ends
			if diff := cmp.Diff(want, e.all); diff != "" || e.err != nil {
				t.Error(e.err, diff)
			}
		}
		r.state(c, task.ID, a2a.TaskStateCompleted)
		for _, err := range c.SubscribeToTask(within(t), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
			is(t, err, a2a.ErrUnsupportedOperation)
		}
	})
}

// A stream that ends early ends neither its task nor the others.
func TestStreamsThatCloseCancelNothing(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		ctx, cancel := context.WithCancel(within(t))
		var id a2a.TaskID
		for ev, err := range c.SendStreamingMessage(ctx, asks("wait")) {
			if err != nil {
				break
			}
			id = ev.TaskInfo().TaskID
			if _, ok := ev.(*a2a.TaskStatusUpdateEvent); ok {
				cancel()
			}
		}
		cancel()
		testutil.Poll(t, patience, func() bool {
			r.h.mu.Lock()
			defer r.h.mu.Unlock()
			task := r.h.live[string(id)]
			task.mu.Lock()
			defer task.mu.Unlock()
			return len(task.streams) == 0
		})
		r.state(c, id, a2a.TaskStateWorking)
		close(r.f.release)
		r.state(c, id, a2a.TaskStateCompleted)
	})
}

// What a blocking client that hangs up had asked for goes on too.
func TestHungUpRequestsGoOn(t *testing.T) {
	r := open(t, usual())
	c := r.client(a2a.TransportProtocolJSONRPC, "")
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan error, 1)
	go func() { _, err := c.SendMessage(ctx, asks("wait")); ended <- err }()
	testutil.Poll(t, patience, func() bool { return r.f.running.Load() == 1 })
	cancel()
	if err := <-ended; err == nil {
		t.Fatal("the request should have been given up")
	}
	list, err := c.ListTasks(within(t), &a2a.ListTasksRequest{})
	if err != nil || len(list.Tasks) != 1 {
		t.Fatalf("got %+v, %v", list, err)
	}
	close(r.f.release)
	r.state(c, list.Tasks[0].ID, a2a.TaskStateCompleted)
}

func TestTasksSurviveARestart(t *testing.T) {
	f := usual()
	first := open(t, f)
	for _, b := range bindings() {
		c := first.client(b, "ann")
		q := asks("events")
		q.Message.ContextID = "ctx with spaces & ünicode"
		done, asked, running := sent(t, c, q), sent(t, c, asks("", a2a.NewTextPart("hello"))), sent(t, c, atOnce(asks("wait")))
		first.state(c, running.ID, a2a.TaskStateWorking)
		f.restart()
		second := open(t, f)
		c = second.client(b, "ann")
		for want, was := range map[a2a.TaskState]*a2a.Task{a2a.TaskStateCompleted: done, a2a.TaskStateInputRequired: asked, a2a.TaskStateFailed: running} {
			got, err := c.GetTask(within(t), &a2a.GetTaskRequest{ID: was.ID})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status.State != want || got.ContextID != was.ContextID {
				t.Errorf("got %s in %q, want %s in %q", got.Status.State, got.ContextID, want, was.ContextID)
			}
			switch want {
			case a2a.TaskStateCompleted:
				if whole(got) != whole(was) || !got.Status.Timestamp.Equal(*was.Status.Timestamp) {
					t.Errorf("got %s at %v, was %s at %v", whole(got), got.Status.Timestamp, whole(was), was.Status.Timestamp)
				}
			case a2a.TaskStateFailed:
				if got.Metadata["error_code"] != "sandbox_crash" || got.Metadata["reason"] != "supervisor_restart" {
					t.Errorf("got %v", got.Metadata)
				}
			}
		}
		list, err := c.ListTasks(within(t), &a2a.ListTasksRequest{ContextID: done.ContextID})
		if err != nil || len(list.Tasks) == 0 || list.Tasks[0].ID != done.ID {
			t.Errorf("got %+v, %v", list, err)
		}
		answer := asks("echo", a2a.NewDataPart(map[string]any{"x": 1}))
		answer.Message.TaskID = asked.ID
		if got := sent(t, c, answer); got.ID != asked.ID || got.Status.State != a2a.TaskStateCompleted {
			t.Errorf("got %+v", got)
		}
	}
	close(f.release)
}

func TestHistoryLength(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		task := sent(t, c, asks("events"))
		for n, want := range []int{0, 1, 2, 3, 4, 4} {
			got, err := c.GetTask(within(t), &a2a.GetTaskRequest{ID: task.ID, HistoryLength: &n})
			if err != nil || len(got.History) != want {
				t.Errorf("%d: got %d messages, %v", n, len(got.History), err)
			}
			if want == 1 && got.History[0].Parts[0].Text() != "nearly there" {
				t.Errorf("the last one is %+v", got.History[0])
			}
			q := asks("events")
			q.Config = &a2a.SendMessageConfig{HistoryLength: &n}
			if got := sent(t, c, q); len(got.History) != want {
				t.Errorf("sending with %d: got %d messages", n, len(got.History))
			}
		}
		less := -1
		_, err := c.GetTask(within(t), &a2a.GetTaskRequest{ID: task.ID, HistoryLength: &less})
		is(t, err, a2a.ErrInvalidParams)
	})
}

func TestNobodyElsesTasks(t *testing.T) {
	f := usual()
	r := open(t, f)
	for _, b := range bindings() {
		ann, bob := r.client(b, "ann"), r.client(b, "bob")
		done, running, asked := sent(t, ann, asks("echo")), sent(t, ann, atOnce(asks("wait"))), sent(t, ann, asks(""))
		unknown := "j" + strings.Repeat("0", 32)
		errs := map[string][]string{}
		note := func(id string, err error) {
			if err == nil {
				t.Errorf("%s: no error", id)
				return
			}
			errs[id] = append(errs[id], strings.ReplaceAll(err.Error(), id, "ID"))
		}
		for _, id := range []string{unknown, string(done.ID), string(running.ID), string(asked.ID)} {
			_, err := bob.GetTask(within(t), &a2a.GetTaskRequest{ID: a2a.TaskID(id)})
			is(t, err, a2a.ErrTaskNotFound)
			note(id, err)
			_, err = bob.CancelTask(within(t), &a2a.CancelTaskRequest{ID: a2a.TaskID(id)})
			is(t, err, a2a.ErrTaskNotFound)
			note(id, err)
			q := asks("echo")
			q.Message.TaskID = a2a.TaskID(id)
			_, err = bob.SendMessage(within(t), q)
			is(t, err, a2a.ErrTaskNotFound)
			note(id, err)
			for _, err := range bob.SubscribeToTask(within(t), &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(id)}) {
				is(t, err, a2a.ErrTaskNotFound)
				note(id, err)
			}
		}
		for id, got := range errs {
			if diff := cmp.Diff(errs[unknown], got); diff != "" {
				t.Errorf("%s can be told from a task that does not exist: %s", id, diff)
			}
		}
		list, err := bob.ListTasks(within(t), &a2a.ListTasksRequest{})
		if err != nil || len(list.Tasks) != 0 || list.TotalSize != 0 {
			t.Errorf("got %+v, %v", list, err)
		}
		if mine, err := ann.ListTasks(within(t), &a2a.ListTasksRequest{}); err != nil || len(mine.Tasks) < 3 {
			t.Errorf("got %+v, %v", mine, err)
		}
	}
	close(f.release)
}

// Calls of other doors are no tasks, whatever their ids.
func TestCallsOfOtherDoors(t *testing.T) {
	f := usual()
	r := open(t, f)
	id := newIdentity("", false)
	f.Call(context.Background(), a2e.Caller{Door: "http"}, &a2e.CallRequest{Header: a2e.Header{ID: id.task}, Name: "echo"}, nil)
	f.Call(context.Background(), a2e.Caller{Door: "a2a"}, &a2e.CallRequest{Header: a2e.Header{ID: "no-task"}, Name: "echo"}, nil)
	c := r.client(a2a.TransportProtocolJSONRPC, "")
	for _, id := range []string{id.task, "no-task", "CALL000000", "CALL000001"} {
		_, err := c.GetTask(within(t), &a2a.GetTaskRequest{ID: a2a.TaskID(id)})
		is(t, err, a2a.ErrTaskNotFound)
	}
	if list, err := c.ListTasks(within(t), &a2a.ListTasksRequest{}); err != nil || len(list.Tasks) != 0 {
		t.Errorf("got %+v, %v", list, err)
	}
}

// A call that no journal took in has its task all the same, for a while.
func TestRefusedCalls(t *testing.T) {
	f := usual()
	f.draining = true
	r := open(t, f)
	c := r.client(a2a.TransportProtocolJSONRPC, "")
	task := sent(t, c, asks("echo"))
	if task.Status.State != a2a.TaskStateFailed || task.Metadata["reason"] != "draining" || task.Metadata["retryable"] != true {
		t.Fatalf("got %+v", task)
	}
	again, err := c.GetTask(within(t), &a2a.GetTaskRequest{ID: task.ID})
	if err != nil || again.Metadata["reason"] != "draining" {
		t.Errorf("got %+v, %v", again, err)
	}
	if list, err := c.ListTasks(within(t), &a2a.ListTasksRequest{}); err != nil || len(list.Tasks) != 1 {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestWhatTheSkillIsToldOfItsTask(t *testing.T) {
	r := open(t, usual())
	q := asks("echo", a2a.NewDataPart(map[string]any{"x": "y"}))
	q.Message.SetMeta("timeout", 9)
	q.Message.SetMeta("correlation_id", "corr")
	q.Message.SetMeta("colour", "blue")
	q.SetMeta("size", 3)
	task := sent(t, r.client(a2a.TransportProtocolJSONRPC, "ann"), q)
	saw, who := r.f.seen()
	if who[0].Principal != "ann" || who[0].Door != "a2a" {
		t.Errorf("got %+v", who[0])
	}
	got := saw[0]
	if got.ID != string(task.ID) || got.Timeout == nil || *got.Timeout != 9 || got.CorrelationID != "corr" || got.Arguments["x"] != "y" {
		t.Errorf("got %+v", got)
	}
	want := map[string]any{
		"colour": "blue", "size": json.Number("3"),
		"a2a": map[string]any{"task_id": string(task.ID), "context_id": task.ContextID, "message_id": q.Message.ID},
	}
	if diff := cmp.Diff(want, got.Metadata); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []any{0, -1, 1.5, "5", true} {
		q := asks("echo")
		q.Message.SetMeta("timeout", bad)
		_, err := r.client(a2a.TransportProtocolHTTPJSON, "ann").SendMessage(within(t), q)
		is(t, err, a2a.ErrInvalidParams)
	}
}

func TestBigArtifact(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		want := strings.Repeat(strings.Repeat("0123456789abcdef", 1<<12), 24)
		task := sent(t, c, asks("big"))
		if got := string(task.Artifacts[0].Parts[0].Raw()); got != want {
			t.Errorf("got %d bytes, want %d", len(got), len(want))
		}
		got, err := c.GetTask(within(t), &a2a.GetTaskRequest{ID: task.ID})
		if err != nil || string(got.Artifacts[0].Parts[0].Raw()) != want {
			t.Errorf("%v", err)
		}
		var streamedBytes []byte
		for _, ev := range streamed(t, c, asks("big")) {
			if u, ok := ev.(*a2a.TaskArtifactUpdateEvent); ok && u.Artifact.Name == "big.bin" {
				streamedBytes = append(streamedBytes, u.Artifact.Parts[0].Raw()...)
			}
		}
		if string(streamedBytes) != want {
			t.Errorf("got %d bytes streamed", len(streamedBytes))
		}
	})
}

// Every stream of a task gets all of it, however much that is.
func TestManyEvents(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		n := 0
		for _, ev := range streamed(t, c, asks("flood")) {
			if u, ok := ev.(*a2a.TaskStatusUpdateEvent); ok && u.Status.State == a2a.TaskStateWorking {
				if u.Metadata["seq"] != float64(n) {
					t.Fatalf("event %v is number %d", u.Metadata["seq"], n)
				}
				n++
			}
		}
		if n != 3000 {
			t.Errorf("got %d events", n)
		}
	})
}

func TestHundredInParallel(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		const n = 100
		ids := make(chan a2a.TaskID, n)
		for i := range n {
			go func() {
				defer func() { ids <- "" }()
				q := asks("echo", a2a.NewDataPart(map[string]any{"i": i}))
				got, err := c.SendMessage(within(t), q)
				if err != nil {
					t.Error(err)
					return
				}
				task := got.(*a2a.Task)
				if task.Artifacts[0].Parts[0].Data().(map[string]any)["i"] != float64(i) {
					t.Errorf("%d got %s", i, whole(task))
				}
			}()
		}
		for range n {
			<-ids
		}
		list, err := c.ListTasks(within(t), &a2a.ListTasksRequest{PageSize: 1})
		if err != nil || list.TotalSize != n {
			t.Errorf("got %+v, %v", list, err)
		}
		testutil.Poll(t, patience, func() bool {
			r.h.mu.Lock()
			defer r.h.mu.Unlock()
			return len(r.h.live) == 0
		})
	})
}

func TestAsTextAlone(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		q := asks("echo", a2a.NewDataPart(map[string]any{"x": 1}))
		q.Config = &a2a.SendMessageConfig{AcceptedOutputModes: []string{"text/plain"}}
		task := sent(t, c, q)
		if p := task.Artifacts[0].Parts[0]; p.Text() != `{"x":1}` || p.MediaType != mediaText {
			t.Errorf("got %+v", p)
		}
		again, err := c.GetTask(within(t), &a2a.GetTaskRequest{ID: task.ID})
		if err != nil || again.Artifacts[0].Parts[0].Text() != `{"x":1}` {
			t.Errorf("got %+v, %v", again, err)
		}
	})
	for raw, want := range map[string]string{`"x\ny"`: "x\ny", `{"only":"this"}`: "this", `{"a":"b","c":"d"}`: `{"a":"b","c":"d"}`, `[1]`: "[1]"} {
		if got := asText([]byte(raw)); got != want {
			t.Errorf("%s: got %q", raw, got)
		}
	}
}

// A stream that joins late gets large artifacts in pieces, and the rest as it comes.
func TestLateStreamOfALargeTask(t *testing.T) {
	id := newIdentity("", false)
	one := &a2a.Artifact{ID: fileID("x"), Name: "x", Parts: a2a.ContentParts{{Content: a2a.Raw(strings.Repeat("y", 2*slice+5))}}}
	var got []int
	var appended []bool
	err := repeat(id, one, func(ev a2a.Event) error {
		u := ev.(*a2a.TaskArtifactUpdateEvent)
		got, appended = append(got, len(u.Artifact.Parts[0].Raw())), append(appended, u.Append)
		return nil
	})
	if err != nil || !slices.Equal(got, []int{slice, slice, 5}) || !slices.Equal(appended, []bool{false, true, true}) {
		t.Errorf("got %v %v, %v", got, appended, err)
	}
}
