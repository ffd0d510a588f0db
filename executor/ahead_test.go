package executor

import (
	"bufio"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox/fake"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// aheadRig is a supervisor with one cell that waits for the skill "free", and a journal that takes its time with the request
// "unlucky" and refuses it then.
func aheadRig(t *testing.T, services ...service.Service) (*bench, *warm.Driver, undecided, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	driver := fake.New(program(func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
		requests.Add(1)
		return well(ctx, req, in, say)
	}))
	pool := warm.New(lenient{driver}, warm.Options{Max: 1})
	u := undecided{Forgetful, make(chan struct{}), make(chan struct{})}
	super := setUp(t, nil, func(c *Config) { c.Driver, c.Journal, c.Services = pool, u, services })
	t.Cleanup(func() {
		pool.Drain()
		testutil.Poll(t, 30*time.Second, func() bool { return driver.Stats().Live == 0 })
	})
	if answer, _ := super.ask(t.Context(), req("free")); answer.Error != nil {
		t.Fatal(answer.Error)
	}
	testutil.Poll(t, 30*time.Second, func() bool { return len(pool.Waiting("free")) == 1 })
	requests.Store(0)
	return super, pool, u, &requests
}

// A cell that waits has its request while the journal still writes. When that refuses the call, nothing of what the cell said is
// heard, and the cell is gone.
func TestARefusedCallIsNotHeard(t *testing.T) {
	super, _, u, requests := aheadRig(t)
	var heard atomic.Int64
	refused := make(chan *a2e.CallResponse)
	go func() {
		refused <- super.Call(context.Background(), a2e.Caller{Door: "test"}, sent("free", "unlucky"), a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
			heard.Add(1)
			return nil
		}))
	}()
	<-u.asked
	testutil.Poll(t, 30*time.Second, func() bool { return requests.Load() == 1 })
	select {
	case answer := <-refused:
		t.Errorf("answered before the journal had decided: %s", verdict(answer))
	case <-time.After(50 * time.Millisecond): // for what the cell says to be heard, if it were
	}
	var leased int
	super.watch.count(func() { leased = super.watch.gone })
	close(u.decide)
	answer := <-refused
	if verdict(answer) != "runtime_error/internal" || len(answer.Data.Events) > 0 || answer.Data.Data != nil {
		t.Errorf("%s: %+v", verdict(answer), answer.Data)
	}
	if n := heard.Load(); n > 0 {
		t.Errorf("%d events of a call without a record were heard", n)
	}
	if calls, err := super.List(t.Context(), 0); err != nil || len(calls) != 1 {
		t.Errorf("calls: %+v, %v", calls, err)
	}
	testutil.Poll(t, 30*time.Second, func() bool {
		var gone int
		super.watch.count(func() { gone = super.watch.gone })
		return gone == leased+1
	})
	// The same caller's next calls wait for the journal, and cost no cells, until the refusal is a while ago.
	if !super.refused.lately("", time.Now()) || super.refused.lately("", time.Now().Add(refusedFor)) || super.refused.lately("ann", time.Now()) {
		t.Errorf("who was refused is not known: %+v", super.refused.at)
	}
	if answer, events := super.ask(t.Context(), req("free")); answer.Error != nil || len(events) != 2 {
		t.Errorf("the next call: %v, %d events", answer.Error, len(events))
	}
}

// A cell that may use something outside of itself hears of no call that the journal does not have.
func TestAGrantWaitsForTheJournal(t *testing.T) {
	super, pool, u, requests := aheadRig(t, &desk{})
	refused := make(chan *a2e.CallResponse)
	go func() {
		refused <- super.Call(context.Background(), a2e.Caller{Door: "test"}, sent("free", "unlucky"), nil)
	}()
	<-u.asked
	if n := len(pool.Waiting("free")); n != 1 || requests.Load() != 0 {
		t.Errorf("%d cells wait, %d requests were handed in", n, requests.Load())
	}
	close(u.decide)
	if got := verdict(<-refused); got != "runtime_error/internal" {
		t.Error(got)
	}
	if n := len(pool.Waiting("free")); n != 1 || requests.Load() != 0 {
		t.Errorf("afterwards %d cells wait, %d requests were handed in", n, requests.Load())
	}
}

// tardy is a journal that takes a call in once it is told to.
type tardy struct{ undecided }

func (l tardy) Accept(ctx context.Context, r control.Record, since time.Time) (*control.Record, error) {
	if r.ReqID == "unlucky" {
		close(l.asked)
		<-l.decide
	}
	return l.Journal.Accept(ctx, r, since)
}

// The time that a call waits for the journal while its cell works is not the skill's.
func TestTheJournalsTimeIsNotTheSkills(t *testing.T) {
	super, _, u, requests := aheadRig(t)
	super.journal = tardy{u}
	answered := make(chan *a2e.CallResponse)
	go func() {
		answered <- super.Call(context.Background(), a2e.Caller{Door: "test"}, timedAs("free", "unlucky", 1), nil)
	}()
	<-u.asked
	testutil.Poll(t, 30*time.Second, func() bool { return requests.Load() == 1 })
	time.Sleep(1500 * time.Millisecond) // more than the call may take
	close(u.decide)
	if answer := <-answered; verdict(answer) != "ok" {
		t.Errorf("%s: %+v", verdict(answer), answer.Error)
	}
}

func timedAs(skill, id string, seconds int) *a2e.CallRequest {
	r := sent(skill, id)
	r.Timeout = &seconds
	return r
}

// full is a journal that takes nothing.
type full struct{ Journal }

func (full) Accept(context.Context, control.Record, time.Time) (*control.Record, error) {
	return nil, errors.New("the disk is full")
}

// Requests that are refused one after the other cost one waiting cell.
func TestRefusedCallsCostOneCell(t *testing.T) {
	super, pool, u, _ := aheadRig(t)
	super.journal = full{u.Journal}
	for n := range 5 {
		if got := verdict(super.Call(context.Background(), a2e.Caller{Door: "test"}, sent("free", "unlucky"), nil)); got != "runtime_error/internal" {
			t.Errorf("%d: %s", n, got)
		}
		testutil.Poll(t, 30*time.Second, func() bool { return len(pool.Waiting("free")) == 1 })
	}
	if n := super.leases.Load(); n != 1 {
		t.Errorf("%d cells were leased", n)
	}
}

func TestManyAreRefused(t *testing.T) {
	var r refused
	now := time.Now()
	for n := range mostRefused + 1 {
		r.note(string(rune(n)), now)
	}
	if !r.lately("somebody", now) || r.lately("somebody", now.Add(refusedFor)) || len(r.at) > mostRefused {
		t.Errorf("%d are known, everybody until %v", len(r.at), r.until)
	}
}
