package console

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

// maker is a handler whose calls a desk knows: they run until they are let go or cancelled.
type maker struct {
	mu    sync.Mutex
	desk  *desk
	fail  *a2e.Error // that calls are refused with, before they are known
	late  *a2e.Error // that they end with at once
	free  chan struct{}
	asked []a2e.CallRequest
	who   []a2e.Caller
	ended int
}

func (m *maker) Discover(context.Context, a2e.Caller, *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	return nil, nil
}

func (m *maker) Call(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, _ a2e.EventWriter) *a2e.CallResponse {
	m.mu.Lock()
	m.asked, m.who = append(m.asked, *req), append(m.who, who)
	m.mu.Unlock()
	if m.fail != nil {
		return a2e.Failure(req.ID, req.Name, m.fail, 0)
	}
	id := "call-" + req.ID
	call := control.Call{ID: id, ReqID: req.ID, Skill: req.Name, Principal: who.Principal, State: control.Running, Accepted: time.Now()}
	if m.late != nil {
		call.State = control.Queued
		m.desk.put(call)
		time.Sleep(50 * time.Millisecond) // it is seen to wait
		return a2e.Failure(req.ID, req.Name, m.late, 0)
	}
	m.desk.put(call)
	select {
	case <-ctx.Done():
	case <-m.free:
	}
	m.mu.Lock()
	m.ended++
	m.mu.Unlock()
	return &a2e.CallResponse{ReqID: req.ID, Name: req.Name}
}

func (m *maker) over() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended
}

// starting is a visit of a console that starts calls.
func starting(t *testing.T, m *maker, who auth.Identity) (*visit, context.CancelFunc) {
	t.Helper()
	o := Options{Control: m.desk, Book: m.desk, Pulse: m.desk, Handler: m}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequest("POST", "/console/", nil).WithContext(ctx)
	return &visit{Console: c, w: httptest.NewRecorder(), r: r, who: who, known: true}, cancel
}

func TestStartedCallsOutliveTheirRequest(t *testing.T) {
	m := &maker{desk: &desk{}, free: make(chan struct{})}
	v, leave := starting(t, m, auth.Identity{Principal: "alice", Scopes: []auth.Scope{auth.Calls}})
	id, err := v.start(&a2e.CallRequest{Name: "greet", Arguments: map[string]any{"a": 1}})
	if err != nil || id != "call-"+m.asked[0].ID {
		t.Fatalf("%q %v", id, err)
	}
	if m.who[0].Door != "console" || m.who[0].Principal != "alice" || m.asked[0].Name != "greet" {
		t.Errorf("%+v %+v", m.who[0], m.asked[0])
	}
	leave()
	if m.over() != 0 {
		t.Error("the call ended with its request")
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx) }()
	stop()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("Run does not end")
	}
	if m.over() != 1 {
		t.Error("Run returned before the call's end")
	}
	v.r = httptest.NewRequest("POST", "/console/", nil)
	var refused *trouble
	if _, err := v.start(&a2e.CallRequest{Name: "greet"}); !errors.As(err, &refused) || refused.status != 503 {
		t.Errorf("after the end: %v", err)
	}
}

func TestStartedCallsHavePlaces(t *testing.T) {
	m := &maker{desk: &desk{}, free: make(chan struct{})}
	v, leave := starting(t, m, auth.Identity{Principal: "alice", Scopes: []auth.Scope{auth.Calls}})
	defer leave()
	for i := range maxStarted / 4 {
		if _, err := v.start(&a2e.CallRequest{Name: "greet"}); err != nil {
			t.Fatal(i, err)
		}
	}
	var refused *trouble
	if _, err := v.start(&a2e.CallRequest{Name: "greet"}); !errors.As(err, &refused) || refused.status != 503 {
		t.Fatalf("one too many: %v", err)
	}
	close(m.free)
	testutil.Poll(t, 30*time.Second, func() bool { // until a place is free again
		_, err := v.start(&a2e.CallRequest{Name: "greet"})
		return err == nil
	})
	v.starts.end()
}

func TestRefusedAtOnce(t *testing.T) {
	bad := a2e.Errorf(a2e.SchemaViolation, "arguments: /n: expected a number")
	full := a2e.Errorf(a2e.RuntimeError, "64 calls wait already").Because(a2e.ReasonQueueFull)
	for name, m := range map[string]*maker{
		"no call was made": {desk: &desk{}, fail: full}, "its arguments are wrong": {desk: &desk{}, late: bad},
	} {
		v, leave := starting(t, m, auth.Nobody())
		id, err := v.start(&a2e.CallRequest{Name: "greet"})
		var why *a2e.Error
		if name == "no call was made" && (!errors.As(err, &why) || why.Reason() != a2e.ReasonQueueFull) {
			t.Errorf("%s: %q %v", name, id, err)
		}
		if name == "its arguments are wrong" && (!errors.As(err, &why) || why.Code != a2e.SchemaViolation) {
			t.Errorf("%s: %q %v", name, id, err)
		}
		leave()
		v.starts.end()
	}
}
