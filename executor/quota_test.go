package executor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/policies"
)

// A principal that has as many calls as it may is refused another one, with when to ask again, and others are not.
func TestAPrincipalsCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, hang, func(c *Config) { c.Quota = admission.Quota{InFlight: 1} })
		ctx, cancel := context.WithCancel(t.Context())
		ask := func(ctx context.Context, principal string) *a2e.CallResponse {
			return b.Call(ctx, a2e.Caller{Principal: principal, Door: "test"}, timed("free", 5), nil)
		}
		first := make(chan *a2e.CallResponse, 1)
		go func() { first <- ask(ctx, "alice") }()
		synctest.Wait()
		over := ask(t.Context(), "alice")
		if verdict(over) != "runtime_error/quota" || over.Error.Message != "the quota of 1 calls in flight is used up" ||
			over.Error.Detail["retry_after"] != int64(1) || !over.Error.Retryable {
			t.Errorf("%s: %+v", verdict(over), over.Error)
		}
		if got := verdict(ask(t.Context(), "bob")); got != "timeout/" {
			t.Errorf("another: %s", got)
		}
		cancel()
		<-first
		if got := verdict(ask(t.Context(), "alice")); got != "timeout/" {
			t.Errorf("after the first: %s", got)
		}
		b.settle(t)
	})
}

// A request that a quota refused may be sent again under its id, and runs then.
func TestARefusedRequestMayComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, well, func(c *Config) { c.Quota = admission.Quota{PerMinute: 1} })
		who := a2e.Caller{Principal: "alice", Door: "test"}
		if got := verdict(b.Call(t.Context(), who, sent("free", "r1"), nil)); got != "ok" {
			t.Fatal(got)
		}
		over := b.Call(t.Context(), who, sent("free", "r2"), nil)
		if verdict(over) != "runtime_error/quota" || over.Error.Detail["retry_after"] != int64(60) {
			t.Errorf("%s: %+v", verdict(over), over.Error)
		}
		if got := verdict(b.Call(t.Context(), who, sent("free", "r1"), nil)); got != "ok" {
			t.Errorf("the same again: %s", got)
		}
		time.Sleep(time.Minute)
		if got := verdict(b.Call(t.Context(), who, sent("free", "r2"), nil)); got != "ok" {
			t.Errorf("after a minute: %s", got)
		}
		b.settle(t)
	})
}

func TestWhatACallPays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &call{limits: policies.Limits{CPU: 500, Memory: 1 << 30}}
		if cpu, memory := c.used(); cpu != 0 || memory != 0 {
			t.Errorf("without a cell: %s, %d", cpu, memory)
		}
		c.view.Started = time.Now()
		time.Sleep(4 * time.Second)
		if cpu, memory := c.used(); cpu != 2*time.Second || memory != 4<<30 {
			t.Errorf("not measured: %s, %d", cpu, memory)
		}
		c.view.Usage = &control.Usage{CPUMS: 30}
		if cpu, memory := c.used(); cpu != 30*time.Millisecond || memory != 4<<30 {
			t.Errorf("measured: %s, %d", cpu, memory)
		}
	})
}
