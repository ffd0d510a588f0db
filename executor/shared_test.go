package executor

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	sqlite "github.com/hotcell/hotcell/internal/store"
	"github.com/hotcell/hotcell/internal/testutil"
)

// onServer returns a supervisor of that name with a journal of its own on a server.
func onServer(t *testing.T, url, instance string, l life, adjust func(*Config)) *bench {
	t.Helper()
	j, err := sqlite.Open(context.Background(), sqlite.Options{URL: url, Keep: sqlite.Keep{Events: time.Hour, Replay: Replay}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return setUp(t, l, func(c *Config) {
		c.Instance, c.Journal = instance, j
		c.Owners = mourners{&owners{known: map[string]bool{"one": true, "two": true}}, make(chan struct{}, 1)}
		if adjust != nil {
			adjust(c)
		}
	})
}

// What a principal may have of calls it has in all supervisors together, and is told the same whichever refuses it.
func TestAQuotaOfSeveralSupervisors(t *testing.T) {
	server := testutil.Postgres(t)
	bounded := func(c *Config) { c.Quota = admission.Quota{InFlight: 1, PerMinute: 3} }
	one, two := onServer(t, server.URL, "one", hang, bounded), onServer(t, server.URL, "two", well, bounded)
	who := a2e.Caller{Principal: "alice", Door: "test"}
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan *a2e.CallResponse, 1)
	var asking sync.WaitGroup
	asking.Go(func() { answers <- one.Call(ctx, who, sent("patient", "r1"), nil) })
	testutil.Poll(t, 30*time.Second, func() bool {
		calls, err := two.List(t.Context(), 1)
		return err == nil && len(calls) == 1 && calls[0].State == control.Running
	})
	for _, b := range []*bench{one, two} {
		id := "over at " + b.cfg.Instance
		over := b.Call(t.Context(), who, sent("free", id), nil)
		if verdict(over) != "runtime_error/quota" || over.Error.Message != "the quota of 1 calls in flight is used up" ||
			over.Error.Detail["retry_after"] != int64(1) || !over.Error.Retryable {
			t.Errorf("%s: %s: %+v", id, verdict(over), over.Error)
		}
		view, answer, err := one.Show(t.Context(), id)
		if err != nil || view.State != control.Failed || view.Cell != "" || !view.Started.IsZero() || answer == nil || verdict(answer) != verdict(over) {
			t.Errorf("%s is on record as %+v, %v", id, view, err)
		}
	}
	if got := verdict(two.Call(t.Context(), a2e.Caller{Principal: "bob", Door: "test"}, sent("free", "r1"), nil)); got != "ok" {
		t.Errorf("another principal: %s", got)
	}
	cancel()
	if got := verdict(<-answers); got != "runtime_error/cancelled" {
		t.Error(got)
	}
	asking.Wait()
	for range 2 { // one that was refused has not run; and the same again is no other call
		if got := verdict(two.Call(t.Context(), who, sent("free", "over at two"), nil)); got != "ok" {
			t.Errorf("the same request with room: %s", got)
		}
	}
	if got := verdict(two.Call(t.Context(), who, sent("free", "r3"), nil)); got != "ok" {
		t.Errorf("the third of the minute: %s", got)
	}
	over := two.Call(t.Context(), who, sent("free", "r4"), nil)
	after, _ := over.Error.Detail["retry_after"].(int64)
	if verdict(over) != "runtime_error/quota" || over.Error.Message != "the quota of 3 calls a minute is used up" || after < 1 || after > 60 {
		t.Errorf("the fourth: %s: %+v", verdict(over), over.Error)
	}
}

// elsewhere is a journal that knows of calls of the same principal in another supervisor.
type elsewhere struct{ undecided }

func (e elsewhere) Accept(ctx context.Context, r control.Record, since time.Time) (*control.Record, error) {
	if r.ReqID == "unlucky" && r.Share != nil {
		close(e.asked)
		<-e.decide
		return nil, &control.OverError{PerMinute: true, After: 41500 * time.Millisecond}
	}
	return e.Journal.Accept(ctx, r, since)
}

// A call that the journal refuses after its waiting cell has the request is not heard, pays nothing, and is on record as refused.
func TestACellOfACallBeyondTheQuotaIsNotHeard(t *testing.T) {
	super, _, u, requests := aheadRig(t)
	super.journal = elsewhere{u}
	super.cfg.Quota = admission.Quota{PerMinute: 5}
	super.quotas = admission.NewQuotas(super.cfg.Quota, nil)
	who := a2e.Caller{Principal: "alice", Door: "test"}
	heard := 0
	answers := make(chan *a2e.CallResponse)
	go func() {
		answers <- super.Call(context.Background(), who, sent("free", "unlucky"), a2e.EventWriterFunc(func(context.Context, *a2e.Event) error { heard++; return nil }))
	}()
	<-u.asked
	testutil.Poll(t, 30*time.Second, func() bool { return requests.Load() == 1 })
	close(u.decide)
	answer := <-answers
	if verdict(answer) != "runtime_error/quota" || answer.Error.Detail["retry_after"] != int64(42) || heard != 0 || answer.Data.Data != nil {
		t.Errorf("%s: %+v, %d events", verdict(answer), answer.Error, heard)
	}
	view, _, err := super.Show(t.Context(), answer.ID)
	if err != nil || view.State != control.Failed || view.Reason != a2e.ReasonQuota || view.Cell != "" || len(view.Unenforced) > 0 || !view.Started.IsZero() {
		t.Errorf("%+v, %v", view, err)
	}
	for n := range 5 { // what was refused counts nowhere
		if got := verdict(super.Call(t.Context(), who, req("free"), nil)); got != "ok" {
			t.Errorf("call %d: %s", n, got)
		}
	}
	if got := verdict(super.Call(t.Context(), who, req("free"), nil)); got != "runtime_error/quota" {
		t.Errorf("the sixth: %s", got)
	}
}
