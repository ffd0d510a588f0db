package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

// bird is what a canary's cells do, and what it tells.
type bird struct {
	mu    sync.Mutex
	err   error
	sang  int
	ready []bool
}

func (b *bird) sing(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sang++
	return b.err
}

func (b *bird) set(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *bird) songs() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sang
}

func (b *bird) Sang(bool, time.Duration) {}
func (b *bird) Ready(yes bool)           { b.ready = append(b.ready, yes) }

// A canary that fails once says nothing, one that fails again does, until it sings again.
func TestCanary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bird{}
		c := newCanary(30*time.Second, b.sing, b, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := c.Ready(short); !errors.Is(err, errNoSong) {
			t.Errorf("before the first: %v", err)
		}
		var group sync.WaitGroup
		group.Go(func() { c.Run(ctx) })
		if err := c.Ready(ctx); err != nil {
			t.Errorf("after the first: %v", err)
		}
		time.Sleep(time.Minute + time.Second)
		if n := b.songs(); n != 3 {
			t.Errorf("%d canaries in a minute", n)
		}
		b.set(errors.New("no cell today"))
		time.Sleep(30 * time.Second)
		if err := c.Ready(ctx); err != nil {
			t.Errorf("after one failure: %v", err)
		}
		time.Sleep(canaryAgain)
		if err := c.Ready(ctx); err == nil || !strings.Contains(err.Error(), "2 times in a row: no cell today") {
			t.Errorf("after two failures: %v", err)
		}
		b.set(nil)
		time.Sleep(canaryAgain)
		if err := c.Ready(ctx); err != nil {
			t.Errorf("once it sings again: %v", err)
		}
		stop()
		group.Wait()
		if last := b.ready[len(b.ready)-1]; !last || b.ready[0] || len(b.ready) != b.songs()+1 {
			t.Errorf("told %v", b.ready)
		}
	})
}

// A canary that never sang is no readiness, and one that nobody wants says nothing.
func TestCanaryThatNeverSings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bird{err: errors.New("no cell today")}
		c := newCanary(time.Minute, b.sing, b, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { c.Run(ctx) })
		if err := c.Ready(ctx); err == nil || !strings.Contains(err.Error(), "no cell today") {
			t.Errorf("%v", err)
		}
		stop()
		group.Wait()
	})
	synctest.Test(t, func(t *testing.T) {
		b := &bird{}
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		c := newCanary(time.Minute, hang, b, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		c.Run(ctx)
		if len(b.ready) != 1 || b.ready[0] { // which an alert looks at
			t.Errorf("it hangs from the start, and is told as %v", b.ready)
		}
	})
	none := newCanary(0, nil, nil, nil)
	none.Run(t.Context())
	if err := none.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// grave is a driver's list, from which cells can be taken unless it fails.
type grave struct {
	all          []sandbox.Listed
	blind, stuck error
	asked        int
}

func (g *grave) List(context.Context) ([]sandbox.Listed, error) {
	g.asked++
	return slices.Clone(g.all), g.blind
}

func (g *grave) Remove(_ context.Context, id string) error {
	if g.stuck == nil {
		g.all = slices.DeleteFunc(g.all, func(l sandbox.Listed) bool { return l.ID == id })
	}
	return g.stuck
}

// A cell that a canary left is destroyed before the next makes another, and nobody else's is.
func TestCanaryCellsDoNotPileUp(t *testing.T) {
	listed := func(id, kind, name, owner string) sandbox.Listed {
		return sandbox.Listed{ID: id, Kind: kind, Name: name, Labels: map[string]string{sandbox.LabelInstance: owner}}
	}
	rest := []sandbox.Listed{listed("1", "volume", "old", "me"), listed("2", "cell", "new", "me"), listed("3", "cell", "old", "another")}
	g := &grave{stuck: errors.New("no way")}
	n := &nest{driver: g, me: "me"}
	if err := n.empty(t.Context()); err != nil || g.asked != 0 {
		t.Errorf("where none was left: %v, asked %d times", err, g.asked)
	}
	n.left, g.all = []string{"old"}, append(slices.Clone(rest), listed("4", "cell", "old", "me"))
	if err := n.empty(t.Context()); err == nil || !strings.Contains(err.Error(), "old, could not be destroyed") || len(g.all) != 4 {
		t.Errorf("while it lives: %v", err)
	}
	g.blind = errors.New("no answer")
	if err := n.empty(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("where nobody knows: %v", err)
	}
	g.blind, g.stuck = nil, nil
	if err := n.empty(t.Context()); err != nil || n.left != nil {
		t.Errorf("once it can go: %v, left %v", err, n.left)
	}
	if diff := cmp.Diff(rest, g.all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// here is an image store that has everything.
type here struct{}

func (here) Resolve(_ context.Context, ref string, _ images.PullPolicy) (images.Image, error) {
	return images.Image{Ref: ref, ID: images.BuiltinID("amd64"), OS: "linux", Arch: "amd64"}, nil
}

// chirp is the life of a canary's cell.
func chirp(_ context.Context, _ *sandbox.Spec, stdin io.Reader, stdout, _ io.Writer) int {
	fmt.Fprintln(stdout, `{"type":"cell/ready","protocol":1}`)
	in := bufio.NewReader(stdin)
	for line, err := []byte(nil), error(nil); wall.TypeOf(line) != wall.TypeRequest; {
		if line, err = in.ReadBytes('\n'); err != nil {
			return 0
		}
	}
	fmt.Fprintln(stdout, `{"type":"skill/result","success":true,"data":{}}`)
	fmt.Fprintln(stdout, `{"type":"cell/exit","exit_code":0,"oom_kills":0}`)
	_, _ = in.ReadBytes('\n')
	return 0
}

// ailing is a driver that now and then destroys nothing.
type ailing struct {
	*fake.Driver
	ill atomic.Bool
}

func (a *ailing) fall(ill bool) {
	a.ill.Store(ill)
	a.SetFaults(fake.Faults{})
	if ill {
		a.SetFaults(fake.Faults{DestroyFails: 1000})
	}
}

func (a *ailing) Remove(ctx context.Context, id string) error {
	if a.ill.Load() {
		return sandbox.ErrUnavailable
	}
	return a.Driver.Remove(ctx, id)
}

// After an outage in which a canary's cell could not be destroyed hotcell is ready within seconds: nobody waits for a reaper.
func TestCanaryAfterAnOutage(t *testing.T) {
	me, err := instance.Open(t.TempDir(), NewInstance())
	if err != nil {
		t.Fatal(err)
	}
	defer me.Close()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		cfg := config.Default(false, dir, dir)
		cfg.DataDir = dir
		driver := &ailing{Driver: fake.New(chirp)}
		driver.SetInstance(me.ID())
		programs := fstest.MapFS{RunnerFile("amd64"): {Data: []byte("runner")}}
		p := &parts{me: me, driver: driver, images: &Keeping{Keeper: images.NewKeeper(images.KeeperOptions{Store: here{}})}, runner: RunnerTrees(programs)}
		c := newCanary(30*time.Second, song(cfg, p), &bird{}, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { c.Run(ctx) })
		if err := c.Ready(ctx); err != nil {
			t.Fatalf("at first: %v", err)
		}
		driver.fall(true)
		time.Sleep(2 * time.Minute)
		if err := c.Ready(ctx); err == nil {
			t.Error("ready, though no cell can be destroyed")
		}
		if n := driver.Stats().Live; n != 1 {
			t.Errorf("%d cells live", n)
		}
		driver.fall(false)
		time.Sleep(15 * time.Second)
		if err := c.Ready(ctx); err != nil {
			t.Errorf("15 s after the outage: %v", err)
		}
		stop()
		group.Wait()
	})
}
