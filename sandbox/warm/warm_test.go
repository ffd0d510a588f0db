package warm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ready = `{"type":"cell/ready","protocol":1}` + "\n"

// answer is a program that reports ready, waits for one line and answers it.
func answer(ctx context.Context, _ *sandbox.Spec, stdin io.Reader, stdout, _ io.Writer) int {
	io.WriteString(stdout, ready)
	line, err := bufio.NewReader(stdin).ReadString('\n')
	if err != nil {
		return 1
	}
	io.WriteString(stdout, "got "+line)
	return 0
}

// bench is a pool over fake cells.
type bench struct {
	t      *testing.T
	fake   *fake.Driver
	warm   *Driver
	serial atomic.Int64
	mu     sync.Mutex
	held   int // user ids, as it were
}

func newBench(t *testing.T, program fake.Program, opts Options) *bench {
	b := &bench{t: t, fake: fake.New(program)}
	if opts.Max == 0 {
		opts.Max = 4
	}
	b.warm = New(b.fake, opts)
	return b
}

func (b *bench) hold(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += n
}

// spec is one call's spec.
func (b *bench) spec(skill, bundle, policy string) *sandbox.Spec {
	memory := int64(64 << 20)
	make := func() *sandbox.Spec {
		return &sandbox.Spec{
			Name: fmt.Sprintf("skill-%d", b.serial.Add(1)), Labels: map[string]string{sandbox.LabelSkill: skill},
			Image: sandbox.Image{ID: "sha256:1"}, Trees: []sandbox.Tree{{Name: "bundle", Digest: bundle}},
			OCI: &specs.Spec{Process: &specs.Process{}, Linux: &specs.Linux{
				Namespaces: []specs.LinuxNamespace{{Type: specs.NetworkNamespace}},
				Resources:  &specs.LinuxResources{Memory: &specs.LinuxMemory{Limit: &memory}},
			}},
			Key: skill + "/" + bundle + "/" + policy,
		}
	}
	s := make()
	s.Again = func(time.Duration) (*sandbox.Spec, func(), error) {
		b.hold(1)
		return make(), func() { b.hold(-1) }, nil
	}
	return s
}

// call makes a cell, asks it, destroys it, and returns its id and what it said.
func (b *bench) call(spec *sandbox.Spec) (string, string) {
	b.t.Helper()
	box, err := b.warm.Create(b.t.Context(), spec)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := box.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	streams := box.Stdio()
	io.WriteString(streams.Stdin, "hello\n")
	said, _ := io.ReadAll(streams.Stdout)
	if err := box.Destroy(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return box.ID(), string(said)
}

// waiting is how many cells live on the engine while no call is in flight.
func (b *bench) waiting() int {
	synctest.Wait()
	return b.fake.Stats().Live
}

// bySkill returns the id of the one cell that waits for each skill.
func (b *bench) bySkill() map[string]string {
	b.waiting()
	list, _ := b.warm.List(b.t.Context())
	ids := map[string]string{}
	for _, l := range list {
		if skill := l.Labels[sandbox.LabelSkill]; ids[skill] == "" {
			ids[skill] = l.ID
		} else {
			b.t.Errorf("two cells wait for %s", skill)
		}
	}
	return ids
}

// counted is how many waiting cells the pool counts.
func (b *bench) counted() int {
	b.warm.pool.mu.Lock()
	defer b.warm.pool.mu.Unlock()
	return b.warm.pool.waiting
}

func (b *bench) close() {
	b.t.Helper()
	if err := b.warm.Close(); err != nil {
		b.t.Error(err)
	}
	if live := b.fake.Stats().Live; live != 0 {
		b.t.Errorf("%d cells are left", live)
	}
	if b.held != 0 {
		b.t.Errorf("%d user ids are not given back", b.held)
	}
	if l := b.warm.pool.leaving; l.cells != 0 || l.memory != 0 {
		b.t.Errorf("the pool still counts %d cells and %d bytes that leave", l.cells, l.memory)
	}
	if n := len(b.warm.pool.names); n != 0 || b.warm.pool.waiting != 0 || b.warm.pool.memory != 0 {
		b.t.Errorf("the pool still knows %d cells, counts %d and %d bytes", n, b.warm.pool.waiting, b.warm.pool.memory)
	}
}

func TestTheSecondCallGetsACellThatWaited(t *testing.T) {
	bothWays(t, func(t *testing.T, open func(fake.Program, Options) *bench) {
		b := open(answer, Options{})
		defer b.close()
		first, said := b.call(b.spec("s", "b", "p"))
		if said != ready+"got hello\n" {
			t.Errorf("the cold cell said %q", said)
		}
		if n := b.waiting(); n != 1 {
			t.Fatalf("%d cells wait, want 1", n)
		}
		list, _ := b.warm.List(t.Context())
		waits := list[0]
		if !b.warm.Keeps(waits.Name) || b.warm.Keeps("skill-1") {
			t.Errorf("keeps %s: %t, keeps skill-1: %t", waits.Name, b.warm.Keeps(waits.Name), b.warm.Keeps("skill-1"))
		}
		time.Sleep(2 * time.Second)
		second, said := b.call(b.spec("s", "b", "p"))
		if second != waits.ID || second == first || said != ready+"got hello\n" {
			t.Errorf("the second call had cell %s and heard %q, want the waiting cell %s", second, said, waits.ID)
		}
		if n := b.waiting(); n != 0 {
			t.Errorf("%d cells wait right after a lease, want none: the call has the host for itself first", n)
		}
		time.Sleep(breath)
		if n := b.waiting(); n != 1 {
			t.Errorf("%d cells wait after a lease, want 1", n)
		}
	})
}

func TestALeaseNeedsNoSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer, Options{})
		defer b.close()
		spec := b.spec("s", "b", "p")
		if box, _ := b.warm.Lease(spec.Key); box != nil {
			t.Error("a lease of an empty pool")
		}
		b.call(spec)
		b.waiting()
		box, name := b.warm.Lease(spec.Key)
		if box == nil || !b.warm.Keeps(name) {
			t.Fatalf("leased %v, %q", box, name)
		}
		if err := box.Destroy(t.Context()); err != nil || b.warm.Keeps(name) {
			t.Errorf("destroy: %v; kept: %t", err, b.warm.Keeps(name))
		}
	})
}

func TestALeaseMatchesExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer, Options{})
		defer b.close()
		b.call(b.spec("s", "b", "wide"))
		b.waiting()
		list, _ := b.warm.List(t.Context())
		id, _ := b.call(b.spec("s", "b", "narrow"))
		if id == list[0].ID {
			t.Error("a call got a cell of another policy")
		}
		none := b.spec("s", "b", "wide")
		none.Key = ""
		if id, _ := b.call(none); id == list[0].ID {
			t.Error("a call without a key got a waiting cell")
		}
	})
}

func TestANewBundleOutdatesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer, Options{})
		defer b.close()
		b.call(b.spec("s", "old", "p"))
		b.call(b.spec("other", "old", "p"))
		before := b.bySkill()
		b.call(b.spec("s", "new", "p"))
		after := b.bySkill()
		if before["other"] == "" || after["other"] != before["other"] || before["s"] == "" || after["s"] == "" || after["s"] == before["s"] {
			t.Errorf("before %v, after %v: want the other skill's cell kept and the outdated one replaced", before, after)
		}
	})
}

// Skills of one name that are not one skill's versions, as two principals may have them, let each other's cells wait.
func TestOnlyItsOwnLineIsOutdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer, Options{})
		defer b.close()
		of := func(line, bundle string) *sandbox.Spec {
			s := b.spec("s", bundle, "p")
			s.Line = line
			return s
		}
		b.call(of("custom:alice/s", "a1"))
		b.call(of("custom:bob/s", "b1"))
		waiting := func() int {
			b.waiting()
			return len(b.warm.Waiting("s"))
		}
		if n := waiting(); n != 2 {
			t.Fatalf("%d cells wait, want one for each", n)
		}
		b.call(of("custom:bob/s", "b2"))
		if n := waiting(); n != 2 {
			t.Errorf("%d cells wait after a new version, want one for each", n)
		}
		if id, _ := b.call(of("custom:alice/s", "a1")); id == "" {
			t.Error("no cell")
		}
	})
}

func TestADeadCellIsNeverLeased(t *testing.T) {
	bothWays(t, func(t *testing.T, open func(fake.Program, Options) *bench) {
		die := make(chan struct{})
		b := open(func(ctx context.Context, spec *sandbox.Spec, stdin io.Reader, stdout, stderr io.Writer) int {
			if spec.Name == "skill-2" { // the first that waits
				io.WriteString(stdout, ready)
				<-die
				return 9
			}
			return answer(ctx, spec, stdin, stdout, stderr)
		}, Options{})
		defer b.close()
		b.call(b.spec("s", "b", "p"))
		b.waiting()
		list, _ := b.warm.List(t.Context())
		close(die)
		synctest.Wait()
		if id, said := b.call(b.spec("s", "b", "p")); id == list[0].ID || said != ready+"got hello\n" {
			t.Errorf("a call got cell %s, which said %q; %s had died", id, said, list[0].ID)
		}
	})
}

func TestWhatAWaitingCellSaysIsDropped(t *testing.T) {
	bothWays(t, func(t *testing.T, open func(fake.Program, Options) *bench) {
		b := open(func(ctx context.Context, spec *sandbox.Spec, stdin io.Reader, stdout, stderr io.Writer) int {
			io.WriteString(stdout, ready+strings.Repeat("early\n", 1000))
			io.WriteString(stderr, strings.Repeat("early\n", 1000))
			line, _ := bufio.NewReader(stdin).ReadString('\n')
			io.WriteString(stdout, "got "+line)
			return 0
		}, Options{})
		defer b.close()
		b.call(b.spec("s", "b", "p"))
		b.waiting()
		if _, said := b.call(b.spec("s", "b", "p")); said != ready+"got hello\n" {
			t.Errorf("the call heard %d bytes: %.80q", len(said), said)
		}
	})
}

func TestACellThatIsNotReadyIsOfNoUse(t *testing.T) {
	for name, program := range map[string]fake.Program{
		"silent": func(ctx context.Context, _ *sandbox.Spec, _ io.Reader, _, _ io.Writer) int { <-ctx.Done(); return 0 },
		"other words": func(ctx context.Context, _ *sandbox.Spec, _ io.Reader, stdout, _ io.Writer) int {
			io.WriteString(stdout, `{"type":"skill/result","success":true}`+"\n")
			<-ctx.Done()
			return 0
		},
		"endless line": func(ctx context.Context, _ *sandbox.Spec, _ io.Reader, stdout, _ io.Writer) int {
			for ctx.Err() == nil {
				io.WriteString(stdout, strings.Repeat("x", 512))
			}
			return 0
		},
		"ends": func(context.Context, *sandbox.Spec, io.Reader, io.Writer, io.Writer) int { return 3 },
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, open func(fake.Program, Options) *bench) {
				b := open(program, Options{Ready: time.Second})
				defer b.close()
				box, err := b.warm.Create(t.Context(), b.spec("s", "b", "p"))
				if err != nil {
					t.Fatal(err)
				}
				box.Destroy(t.Context())
				time.Sleep(time.Minute)
				if n := b.waiting(); n > 1 {
					t.Errorf("%d cells wait", n)
				}
				if made := b.fake.Stats().Created; made < 3 || made > 12 {
					t.Errorf("%d cells were made in a minute, want a few tries with growing pauses", made)
				}
			})
		})
	}
}

// A daemon that stops while a cell comes up has nothing to complain of.
func TestNoWarningOfACellThatTheEndCutOff(t *testing.T) {
	silent := func(ctx context.Context, _ *sandbox.Spec, _ io.Reader, _, _ io.Writer) int { <-ctx.Done(); return 0 }
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		b := newBench(t, silent, Options{Ready: time.Minute, Log: slog.New(slog.NewTextHandler(&said, nil))})
		box, err := b.warm.Create(t.Context(), b.spec("s", "b", "p"))
		if err != nil {
			t.Fatal(err)
		}
		box.Destroy(t.Context())
		time.Sleep(10 * time.Second)
		if n := b.waiting(); n != 1 {
			t.Fatalf("%d cells come up, want one", n)
		}
		b.close()
		if said.Len() > 0 {
			t.Errorf("log %q", said.String())
		}
	})
}

func TestNothingWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer, Options{Idle: 5 * time.Minute, MaxAge: 2 * time.Minute})
		defer b.close()
		b.call(b.spec("s", "b", "p"))
		b.waiting()
		young, _ := b.warm.List(t.Context())
		time.Sleep(3 * time.Minute)
		b.waiting()
		if old, _ := b.warm.List(t.Context()); len(old) != 1 || old[0].ID == young[0].ID {
			t.Errorf("after its greatest age cell %v is still %v", young, old)
		}
		time.Sleep(3 * time.Minute)
		if n := b.waiting(); n != 0 {
			t.Errorf("%d cells wait for a key that nobody asks for", n)
		}
	})
}

func TestDemandSizesThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer, Options{Max: 3})
		defer b.close()
		for range 5 {
			b.call(b.spec("busy", "b", "p"))
		}
		time.Sleep(time.Second)
		if n := b.waiting(); n != 3 {
			t.Errorf("%d cells wait after a burst of 5 with room for 3", n)
		}
		b.call(b.spec("rare", "b", "p"))
		time.Sleep(5 * time.Second)
		if n := b.waiting(); n != 3 {
			t.Errorf("%d cells wait, want the 3 of the busy skill", n)
		}
		time.Sleep(2 * time.Minute)
		if n := b.waiting(); n != 2 {
			t.Errorf("%d cells wait long after the burst, want one of each skill", n)
		}
	})
}

func TestCallsInFlightComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var room atomic.Int64
		room.Store(2)
		b := newBench(t, answer, Options{Room: func(memory int64) bool { return memory <= room.Load()*(64<<20) }})
		defer b.close()
		for range 4 {
			b.call(b.spec("s", "b", "p"))
		}
		time.Sleep(time.Second)
		if n := b.waiting(); n != 2 {
			t.Errorf("%d cells wait, and there is room for 2", n)
		}
		made := b.fake.Stats().Created
		room.Store(1)
		time.Sleep(5 * time.Second)
		if n, more := b.waiting(), b.fake.Stats().Created-made; n != 1 || more != 0 {
			t.Errorf("%d cells wait and %d were made since, and there is room for the one of those that were there", n, more)
		}
		room.Store(0)
		time.Sleep(2 * time.Second)
		if n := b.waiting(); n != 0 {
			t.Errorf("%d cells wait, and there is room for none", n)
		}
	})
}

// While calls queue nothing is started ahead, and what waits is kept for them.
func TestWhatWaitsIsKeptForCallsThatQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		b := newBench(t, answer, Options{Busy: busy.Load})
		defer b.close()
		for range 2 {
			b.call(b.spec("s", "b", "p"))
		}
		time.Sleep(time.Second)
		busy.Store(true)
		time.Sleep(10 * time.Second)
		if n := b.waiting(); n != 2 {
			t.Errorf("%d cells wait, want the 2 of before", n)
		}
		before := b.fake.Stats().Created
		b.call(b.spec("s", "b", "p"))
		time.Sleep(10 * time.Second)
		if n, made := b.waiting(), b.fake.Stats().Created-before; n != 1 || made != 0 {
			t.Errorf("%d cells wait after a lease and %d were made, while calls queue", n, made)
		}
		busy.Store(false)
		time.Sleep(2 * time.Second)
		if n := b.waiting(); n != 2 {
			t.Errorf("%d cells wait once no call queues, want 2", n)
		}
	})
}

func TestACellThatWillNotDieKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer, Options{Max: 1, Idle: time.Minute})
		b.fake.SetFaults(fake.Faults{})
		b.call(b.spec("s", "b", "p"))
		b.waiting()
		b.fake.SetFaults(fake.Faults{DestroyFails: 4})
		b.call2(b.spec("s", "b", "p")) // the next one that waits will not die at once
		b.waiting()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if n := b.counted(); n != 1 {
			t.Errorf("the pool counts %d cells, want the one that will not die", n)
		}
		time.Sleep(time.Minute)
		if n := b.waiting(); n != 0 {
			t.Errorf("%d cells are left", n)
		}
		b.close()
	})
}

// call2 is call for a cell whose first destroy may fail.
func (b *bench) call2(spec *sandbox.Spec) {
	box, err := b.warm.Create(b.t.Context(), spec)
	if err != nil {
		b.t.Fatal(err)
	}
	for box.Destroy(b.t.Context()) != nil {
	}
}

func TestAnEngineThatFailsIsAskedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer, Options{})
		defer b.close()
		box, err := b.warm.Create(t.Context(), b.spec("s", "b", "p"))
		if err != nil {
			t.Fatal(err)
		}
		var asked atomic.Int64
		b.fake.SetFaults(fake.Faults{Create: func(*sandbox.Spec) error { asked.Add(1); return errors.New("no") }})
		box.Start(t.Context())
		time.Sleep(2 * time.Minute)
		if n := asked.Load(); n < 3 || n > 12 {
			t.Errorf("a failing engine was asked %d times in two minutes", n)
		}
		b.fake.SetFaults(fake.Faults{})
		time.Sleep(2 * time.Minute)
		box.Destroy(t.Context())
		if n := b.waiting(); n != 1 {
			t.Errorf("%d cells wait once the engine works again", n)
		}
	})
}

// TestManyCallsAtOnce leases, returns and drains in any order; -race and the books say whether it is sound.
func TestManyCallsAtOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		skills := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 40).Draw(rt, "skills")
		b := newBench(t, answer, Options{Max: rapid.IntRange(1, 5).Draw(rt, "max")})
		var group sync.WaitGroup
		for _, n := range skills {
			group.Go(func() {
				if _, said := b.call(b.spec(fmt.Sprint("s", n), "b", "p")); said != ready+"got hello\n" {
					t.Errorf("a call heard %q", said)
				}
			})
		}
		if rapid.Bool().Draw(rt, "drain early") {
			b.warm.Drain()
		}
		group.Wait()
		b.close()
	})
}

func TestManyLeasesLeaveNoTimeForABreath(t *testing.T) {
	now := time.Unix(1000, 0)
	var l leases
	if d := l.breath(now); d != 0 {
		t.Errorf("a pool without leases waits %v", d)
	}
	for i := range few {
		l.note(now.Add(time.Duration(i) * time.Millisecond))
		want := breath - time.Millisecond
		if i == few-1 {
			want = 0
		}
		if d := l.breath(now.Add(time.Duration(i+1) * time.Millisecond)); d != want {
			t.Errorf("after %d leases: %v, want %v", i+1, d, want)
		}
	}
	if d := l.breath(now.Add(2 * time.Second)); d != 0 {
		t.Errorf("long after the last lease: %v", d)
	}
}
