package executor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// shooter is a pool that does something to a cell when it is leased.
type shooter struct {
	*warm.Driver
	shots atomic.Int64
	shoot func(box sandbox.Sandbox, nth int64) sandbox.Sandbox
}

func (s *shooter) Lease(key string) (sandbox.Sandbox, string) {
	box, name := s.Driver.Lease(key)
	if box != nil {
		box = s.shoot(box, s.shots.Add(1))
	}
	return box, name
}

// deafened is a cell whose stdin takes nothing.
type deafened struct{ sandbox.Sandbox }

func (d deafened) Stdio() sandbox.Stdio {
	s := d.Sandbox.Stdio()
	s.Stdin = closedStdin{}
	return s
}

type closedStdin struct{}

func (closedStdin) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
func (closedStdin) Close() error              { return nil }

// agreeable is a cell whose engine takes whatever is written to its stdin, long after its end.
type agreeable struct{ sandbox.Sandbox }

func (a agreeable) Stdio() sandbox.Stdio {
	s := a.Sandbox.Stdio()
	s.Stdin = openStdin{}
	return s
}

type openStdin struct{}

func (openStdin) Write(p []byte) (int, error) { return len(p), nil }
func (openStdin) Close() error                { return nil }

// failoverRig is a supervisor whose pool holds two cells for the skill "free", and counts how often a cell read a request.
func failoverRig(t *testing.T, l life, shoot func(sandbox.Sandbox, int64) sandbox.Sandbox) (*bench, *shooter, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	driver := fake.New(program(func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
		requests.Add(1)
		return l(ctx, req, in, say)
	}))
	pool := &shooter{Driver: warm.New(driver, warm.Options{Max: 2}), shoot: shoot}
	super := setUp(t, nil, func(c *Config) { c.Driver = pool })
	t.Cleanup(func() {
		pool.Drain()
		testutil.Poll(t, 5*time.Second, func() bool { return driver.Stats().Live == 0 })
	})
	together := make(chan *a2e.CallResponse, 2)
	for range 2 { // two in one second, so that two wait for the next
		go func() { together <- super.Call(context.Background(), a2e.Caller{Door: "test"}, req("free"), nil) }()
	}
	for range 2 {
		if answer := <-together; answer.Error != nil {
			t.Log(answer.Error)
		}
	}
	testutil.Poll(t, 10*time.Second, func() bool { return len(pool.Waiting("free")) == 2 })
	requests.Store(0)
	pool.shots.Store(0)
	return super, pool, &requests
}

func alive(box sandbox.Sandbox, _ int64) sandbox.Sandbox { return box }

func shot(box sandbox.Sandbox, _ int64) sandbox.Sandbox {
	_ = box.Kill(context.Background())
	return box
}

// A call whose waiting cell takes nothing of it gets the next one, and at last one of its own.
func TestACallOutlivesCellsThatWaited(t *testing.T) {
	for name, tt := range map[string]struct {
		shoot func(sandbox.Sandbox, int64) sandbox.Sandbox
		shots int64
	}{
		"nothing happens": {alive, 1},
		"one is dead": {func(box sandbox.Sandbox, nth int64) sandbox.Sandbox {
			if nth == 1 {
				return shot(box, nth)
			}
			return box
		}, 2},
		"all are dead": {shot, 2},
		"all are dead, and the engine takes their requests": {func(box sandbox.Sandbox, _ int64) sandbox.Sandbox {
			_ = box.Kill(context.Background())
			_, _ = box.Wait(context.Background())
			return agreeable{box}
		}, 2},
		"all are deaf": {func(box sandbox.Sandbox, _ int64) sandbox.Sandbox { return deafened{box} }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			super, pool, requests := failoverRig(t, well, tt.shoot)
			answer := super.Call(context.Background(), a2e.Caller{Door: "test"}, req("free"), nil)
			if answer.Error != nil || requests.Load() != 1 {
				t.Errorf("%v; the request was read %d times, want once", answer.Error, requests.Load())
			}
			if n := pool.shots.Load(); n < tt.shots {
				t.Errorf("%d cells were leased, want %d", n, tt.shots)
			}
			if n := len(answer.Data.Events); answer.Error == nil && n != 2 {
				t.Errorf("%d events, want those of one cell", n)
			}
		})
	}
}

// talkative is a store whose pull tells how it goes until somebody hears of it.
type talkative struct {
	pulls *images.Pulls
	heard <-chan struct{}
}

func (s talkative) Resolve(ctx context.Context, ref string, _ images.PullPolicy) (images.Image, error) {
	err := s.pulls.Do(ctx, ref, func(ctx context.Context, tell func(images.Progress)) error {
		for i := 0; ; i++ {
			tell(images.Progress{Ref: ref, Step: fmt.Sprint("step ", i%2)})
			select {
			case <-time.After(time.Millisecond):
			case <-s.heard:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
	if err != nil {
		return images.Image{}, err
	}
	return store{}.Resolve(ctx, ref, images.PullNever)
}

// A call that has heard of a pull, and then gets a cell that is dead and another one, hears each event once and in order.
func TestEventsOfAPullBeforeADeadCell(t *testing.T) {
	super, _, requests := failoverRig(t, well, shot)
	pulls, heard := images.NewPulls(time.Minute), make(chan struct{})
	defer pulls.Close()
	super.cfg.Images = talkative{pulls, heard}
	var seqs []int
	pulled := 0
	answer := super.Call(context.Background(), a2e.Caller{Door: "test"}, req("free"), a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error {
		seqs = append(seqs, ev.Seq)
		if ev.Data["kind"] == kindPull {
			if pulled++; pulled == 1 {
				close(heard)
			}
		}
		return nil
	}))
	if answer.Error != nil || requests.Load() != 1 {
		t.Fatalf("%v; the request was read %d times, want once", answer.Error, requests.Load())
	}
	if len(seqs) != pulled+2 || len(answer.Data.Events) != len(seqs) {
		t.Errorf("heard %v, %d of them of the pull; %d events are in the answer", seqs, pulled, len(answer.Data.Events))
	}
	for i, seq := range seqs {
		if seq != i {
			t.Errorf("heard %v", seqs)
			break
		}
	}
}

// Once a cell has taken the request nobody else gets it: what it dies of is the call's end.
func TestARequestIsHandedInOnce(t *testing.T) {
	for name, l := range map[string]life{
		"dies": func(context.Context, map[string]any, *bufio.Reader, func(string, ...any)) int { return 9 },
		"says and dies": func(_ context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
			say(`{"type":"skill/event","kind":"progress","data":{"pct":50}}`)
			return 9
		},
	} {
		t.Run(name, func(t *testing.T) {
			super, pool, requests := failoverRig(t, l, alive)
			answer := super.Call(context.Background(), a2e.Caller{Door: "test"}, req("free"), nil)
			if answer.Error == nil || answer.Error.Code != a2e.SandboxCrash || requests.Load() != 1 || pool.shots.Load() != 1 {
				t.Errorf("%v; the request was read %d times, %d cells were leased", answer.Error, requests.Load(), pool.shots.Load())
			}
		})
	}
}

// A cell of the call's own that dies before it takes the request is a crash: there is no other.
func TestAColdCellIsNotReplaced(t *testing.T) {
	var made atomic.Int64
	driver := fake.New(func(_ context.Context, _ *sandbox.Spec, _ io.Reader, stdout, _ io.Writer) int {
		made.Add(1)
		fmt.Fprintln(stdout, `{"type":"cell/ready","protocol":1}`)
		return 9
	})
	super := setUp(t, nil, func(c *Config) { c.Driver = driver })
	answer := super.Call(context.Background(), a2e.Caller{Door: "test"}, req("free"), nil)
	if answer.Error == nil || answer.Error.Code != a2e.SandboxCrash || made.Load() != 1 {
		t.Errorf("%v, %d cells", answer.Error, made.Load())
	}
}

// A mouth that is shut takes nothing more, and one that took something is not shut.
func TestAMouth(t *testing.T) {
	pr, pw := io.Pipe()
	m := newMouth(pw)
	if !m.untouched() {
		t.Error("touched, and nobody wrote")
	}
	if n, err := m.Write([]byte("x")); n != 0 || !errors.Is(err, errShut) {
		t.Errorf("a write into a shut mouth: %d, %v", n, err)
	}
	m = newMouth(pw)
	go func() { _, _ = pr.Read(make([]byte, 1)) }()
	if _, err := m.Write([]byte("x")); err != nil || m.untouched() {
		t.Errorf("untouched after a write: %v", err)
	}
	m = newMouth(pw)
	wrote := make(chan error, 1)
	go func() { _, err := m.Write([]byte("x")); wrote <- err }()
	testutil.Poll(t, time.Second, func() bool { return len(m.turn) == 1 })
	if m.untouched() {
		t.Error("untouched while somebody writes")
	}
	_ = pr.Close()
	if err := <-wrote; err == nil {
		t.Error("a write nobody reads")
	}
	if !m.untouched() {
		t.Error("touched by a write that failed")
	}
}
