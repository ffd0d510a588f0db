package executor

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

// letters are what supervisors ask one another, as a store that they share keeps them.
type letters struct {
	mu    sync.Mutex
	calls map[string]bool
}

// post is a journal with letters.
type post struct {
	Journal
	*letters
}

func (l *letters) AskCancel(_ context.Context, call string, operator bool) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[call] = operator
	return true, nil
}

func (l *letters) Cancels(_ context.Context, instance string, tell func(call string, operator bool)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if instance == "one" {
		for call, operator := range l.calls {
			tell(call, operator)
		}
		clear(l.calls)
	}
	return nil
}

// mourners hear of deaths.
type mourners struct {
	*owners
	deaths chan struct{}
}

func (m mourners) Deaths() <-chan struct{} { return m.deaths }

// A call is cancelled through a supervisor that does not run it.
func TestCancelledThroughAnother(t *testing.T) {
	path, box := dbPath(t), &letters{calls: map[string]bool{}}
	who := mourners{&owners{known: map[string]bool{"one": true, "two": true}}, make(chan struct{}, 1)}
	shared := func(c *Config) { c.Owners, c.Journal = who, post{c.Journal, box} }
	one, two := journalled(t, path, "one", hang, shared), journalled(t, path, "two", well, shared)
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { one.Tend(ctx) })
	answers := make(chan *a2e.CallResponse, 1)
	beside.Go(func() { answer, _ := one.ask(context.Background(), sent("free", "r1")); answers <- answer })
	testutil.Poll(t, 30*time.Second, func() bool {
		calls, err := two.List(t.Context(), 1)
		return err == nil && len(calls) == 1
	})
	if err := two.Cancel(t.Context(), newestID(t, two)); err != nil {
		t.Fatal(err)
	}
	if got := <-answers; verdict(got) != "runtime_error/cancelled" || got.Error.Message != "cancelled by an operator" {
		t.Errorf("%s: %+v", verdict(got), got.Error)
	}
}

// A supervisor that is draining, which nobody tends any more, still cancels its calls when others were asked to.
func TestCancelledThroughAnotherWhileDraining(t *testing.T) {
	path, box := dbPath(t), &letters{calls: map[string]bool{}}
	who := mourners{&owners{known: map[string]bool{"one": true, "two": true}}, make(chan struct{}, 1)}
	shared := func(c *Config) { c.Owners, c.Journal = who, post{c.Journal, box} }
	one, two := journalled(t, path, "one", hang, shared), journalled(t, path, "two", well, shared)
	var beside sync.WaitGroup
	defer beside.Wait()
	answers := make(chan *a2e.CallResponse, 1)
	beside.Go(func() { answer, _ := one.ask(context.Background(), sent("patient", "r1")); answers <- answer })
	testutil.Poll(t, 30*time.Second, func() bool {
		calls, err := two.List(t.Context(), 1)
		return err == nil && len(calls) == 1 && calls[0].State == control.Running
	})
	drained := make(chan error, 1)
	beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		drained <- one.Drain(ctx)
	})
	testutil.Poll(t, 30*time.Second, func() bool { return one.Pulse(t.Context()).Draining })
	if err := two.Cancel(t.Context(), newestID(t, two)); err != nil {
		t.Fatal(err)
	}
	if got := <-answers; verdict(got) != "runtime_error/cancelled" || got.Error.Message != "cancelled by an operator" {
		t.Errorf("%s: %+v", verdict(got), got.Error)
	}
	if err := <-drained; err != nil {
		t.Errorf("drain: %v", err)
	}
}

// Another one's death is not only found by the look of every minute.
func TestADeathIsHeardOf(t *testing.T) {
	path := dbPath(t)
	who := mourners{&owners{known: map[string]bool{"one": true, "two": true}}, make(chan struct{}, 1)}
	r := control.Record{Digest: "d", Instance: "one", Call: control.Call{ID: "c1", ReqID: "r c1", Skill: "free", State: control.Running, Accepted: time.Now()}}
	if _, err := journalAt(t, path).Accept(t.Context(), r, time.Now()); err != nil {
		t.Fatal(err)
	}
	two := journalled(t, path, "two", well, func(c *Config) { c.Owners = who })
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { two.Tend(ctx) })
	time.Sleep(early[0] + early[1] + time.Second) // for its early looks: the next one comes after a minute
	who.set("one", false)
	who.deaths <- struct{}{}
	testutil.Poll(t, 30*time.Second, func() bool {
		_, answer, err := two.Show(t.Context(), "c1")
		return err == nil && answer != nil && verdict(answer) == "sandbox_crash/supervisor_restart"
	})
}
