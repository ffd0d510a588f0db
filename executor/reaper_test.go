package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

// shelf is a fake driver with further things on its engine, which is where faults of listing and removal are.
type shelf struct {
	*fake.Driver
	remove func(ctx context.Context, id string) error // asked first

	mu      sync.Mutex
	things  []sandbox.Listed
	listing error
	lists   []time.Time
	removed []string
	tried   []string
}

func (s *shelf) List(ctx context.Context) ([]sandbox.Listed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists = append(s.lists, time.Now())
	if s.listing != nil {
		return nil, s.listing
	}
	cells, err := s.Driver.List(ctx)
	return append(cells, s.things...), err
}

func (s *shelf) Remove(ctx context.Context, id string) error {
	s.mu.Lock()
	s.tried = append(s.tried, id)
	s.mu.Unlock()
	if s.remove != nil {
		if err := s.remove(ctx, id); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = append(s.removed, id)
	s.things = slices.DeleteFunc(s.things, func(l sandbox.Listed) bool { return l.ID == id })
	return s.Driver.Remove(ctx, id)
}

// put adds a thing of an owner's, which expires in an hour.
func (s *shelf) put(kind, owner, name string) {
	s.things = append(s.things, sandbox.Listed{ID: kind + ":" + name, Kind: kind, Name: name, State: "running", Created: time.Now(), Labels: map[string]string{
		sandbox.LabelManaged: "1", sandbox.LabelInstance: owner, sandbox.LabelExpires: fmt.Sprint(time.Now().Add(time.Hour).Unix()),
	}})
}

func (s *shelf) gone() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.removed))
}

// parish are the supervisors that a test knows: alive or not.
type parish struct {
	mu       sync.Mutex
	alive    map[string]bool
	poisoned []string
	told     int
	buried   []string
}

func (p *parish) Alive(instance string) (alive, known bool) {
	alive, known = p.alive[instance]
	return alive, known
}

func (p *parish) Poisoned(cells []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.poisoned = slices.Clone(cells)
	p.told++
	return nil
}

func (p *parish) Forget(left func(string) bool) error {
	p.buried = nil
	for _, id := range slices.Sorted(maps.Keys(p.alive)) {
		if !p.alive[id] && !left(id) {
			p.buried = append(p.buried, id)
		}
	}
	return nil
}

func (p *parish) named() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.poisoned
}

// graveyard returns a supervisor over a shelf, among others.
func graveyard(t *testing.T, l life) (*bench, *shelf, *parish) {
	t.Helper()
	sh := &shelf{}
	who := &parish{alive: map[string]bool{"dead": false, "live": true, "gone": false}}
	b := setUp(t, l, func(c *Config) {
		sh.Driver = c.Driver.(*fake.Driver)
		sh.SetInstance(c.Instance)
		c.Driver, c.Owners = sh, who
	})
	return b, sh, who
}

func TestSweep(t *testing.T) {
	b, sh, who := graveyard(t, well)
	for _, owner := range []string{"dead", "live", "stranger", "test"} {
		for _, kind := range []string{"cell", "fill", "cgroup"} {
			sh.put(kind, owner, kind+"-of-"+owner)
		}
	}
	sh.put("cgroup", "dead", "cell-of-dead")
	sh.put("cgroup", "live", "cell-of-live")
	sh.put("instance", "dead", "dead")
	sh.put("instance", "live", "live")
	sh.put("volume", "", "young")
	sh.put("volume", "", "mounted")
	sh.things[len(sh.things)-1].Created = time.Now().Add(-2 * volumeAge)
	sh.things[len(sh.things)-1].Labels[sandbox.LabelDigest] = "d"
	sh.remove = func(_ context.Context, id string) error {
		if id == "volume:mounted" {
			return errors.New("volume is in use")
		}
		return nil
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{"cell:cell-of-dead", "cgroup:cell-of-dead", "cgroup:cgroup-of-dead", "fill:fill-of-dead", "instance:dead"}
	if got := sh.gone(); !slices.Equal(got, want) {
		t.Errorf("removed %v, want %v", got, want)
	}
	if len(sh.lists) != 1 || !slices.Contains(sh.tried, "volume:mounted") {
		t.Errorf("%d lists, tried %v", len(sh.lists), sh.tried)
	}
	if cell, cgroup := slices.Index(sh.tried, "cell:cell-of-dead"), slices.Index(sh.tried, "cgroup:cell-of-dead"); cell > cgroup {
		t.Errorf("the cgroup went before its cell: %v", sh.tried)
	}
	if cell, owner := slices.Index(sh.tried, "cell:cell-of-dead"), slices.Index(sh.tried, "instance:dead"); cell < owner {
		t.Errorf("what stands for the dead one went after its cell: %v", sh.tried)
	}
	if !slices.Equal(who.buried, []string{"gone"}) {
		t.Errorf("forgotten: %v, want the one of whom nothing was listed", who.buried)
	}
	if err := b.Sweep(t.Context()); err != nil || !slices.Equal(who.buried, []string{"dead", "gone"}) {
		t.Errorf("the second sweep forgot %v, %v", who.buried, err)
	}
}

// What can't be removed is tried again, its cgroup waits for it, and what hangs holds up nothing else.
func TestSweepOverFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, sh, _ := graveyard(t, well)
		for i := range 4 {
			sh.put("cell", "dead", fmt.Sprintf("hangs-%d", i))
		}
		sh.put("cell", "dead", "busy")
		sh.put("cgroup", "dead", "busy")
		for i := range 20 {
			sh.put("cell", "dead", fmt.Sprintf("cell-%02d", i))
		}
		broken := true
		sh.remove = func(ctx context.Context, id string) error {
			switch {
			case broken && strings.Contains(id, "hangs"):
				<-ctx.Done()
				return context.Cause(ctx)
			case broken && strings.Contains(id, "busy"):
				return errors.New("device or resource busy")
			}
			return nil
		}
		began := time.Now()
		err := b.Sweep(t.Context())
		if err == nil || !strings.Contains(err.Error(), "5 of 25 could not be removed") {
			t.Errorf("sweep: %v", err)
		}
		if n, took := len(sh.gone()), time.Since(began); n != 20 || took > removeLimit+4*removersCalm {
			t.Errorf("%d removed in %v", n, took)
		}
		if slices.Contains(sh.tried, "cgroup:busy") {
			t.Error("a cgroup was tried though its cell lives")
		}
		broken = false
		if err := b.Sweep(t.Context()); err != nil || len(sh.gone()) != 26 || len(sh.things) != 0 {
			t.Errorf("again: %v, %d removed, left %v", err, len(sh.gone()), sh.things)
		}
	})
}

// What is ours and not in use gets the time that it may take to make something; a call's own cell is never touched.
func TestSweepAmongOurOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, sh, _ := graveyard(t, hang)
		sh.put("cell", "test", "unknown")
		sh.put("fill", "test", "filling")
		var call sync.WaitGroup
		call.Go(func() { b.ask(t.Context(), timed("patient", 600)) })
		synctest.Wait()
		for _, pause := range []time.Duration{0, creationGrace - time.Second} {
			time.Sleep(pause)
			if err := b.Sweep(t.Context()); err != nil || len(sh.gone()) != 0 {
				t.Errorf("after %v: removed %v, %v", pause, sh.gone(), err)
			}
		}
		time.Sleep(time.Second)
		if err := b.Sweep(t.Context()); err != nil || !slices.Equal(sh.gone(), []string{"cell:unknown", "fill:filling"}) {
			t.Errorf("removed %v, %v", sh.gone(), err)
		}
		if live := b.driver.Stats().Live; live != 1 {
			t.Errorf("%d cells live, want the call's", live)
		}
		call.Wait()
	})
}

func TestTend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, sh, _ := graveyard(t, well)
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var tending sync.WaitGroup
		tending.Go(func() { b.Tend(ctx) })
		time.Sleep(30 * time.Second)
		sh.mu.Lock()
		sh.listing = errors.New("the engine is away")
		sh.mu.Unlock()
		time.Sleep(time.Minute)
		sh.mu.Lock()
		sh.listing = nil
		sh.put("cell", "dead", "late")
		sh.mu.Unlock()
		time.Sleep(time.Minute)
		cancel()
		tending.Wait()
		var at []time.Duration
		for _, l := range sh.lists {
			at = append(at, l.Sub(began))
		}
		if want := []time.Duration{0, 2 * time.Second, 5 * time.Second, 65 * time.Second, 125 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("swept at %v, want %v", at, want)
		}
		if !slices.Equal(sh.gone(), []string{"cell:late"}) {
			t.Errorf("removed %v", sh.gone())
		}
	})
}

// Tend ends with its supervisor, also while the engine hangs.
func TestTendEndsWithTheSupervisor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, sh, _ := graveyard(t, well)
		sh.put("cell", "dead", "hangs")
		sh.remove = func(ctx context.Context, _ string) error { <-ctx.Done(); return context.Cause(ctx) }
		var tending sync.WaitGroup
		tending.Go(func() { b.Tend(t.Context()) })
		synctest.Wait()
		if err := b.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		tending.Wait()
	})
}

// What is odd is left alone and named once.
func TestSweepSaysWhatIsOdd(t *testing.T) {
	var text bytes.Buffer
	b, sh, _ := graveyard(t, well)
	b.log = slog.New(slog.NewTextHandler(&text, nil))
	sh.put("cell", "", "nobodys")
	sh.put("cell", "stranger", "ageless")
	sh.things[1].Labels[sandbox.LabelExpires] = "soon"
	for range 3 {
		if err := b.Sweep(t.Context()); err != nil || len(sh.gone()) != 0 {
			t.Errorf("removed %v, %v", sh.gone(), err)
		}
	}
	for _, want := range []string{"it names no owner", "it does not say when it expires"} {
		if n := strings.Count(text.String(), want); n != 1 {
			t.Errorf("%q was said %d times:\n%s", want, n, &text)
		}
	}
	sh.things = nil
	if err := b.Sweep(t.Context()); err != nil || len(b.reaper.told) != 0 {
		t.Errorf("%d things are remembered for ever, %v", len(b.reaper.told), err)
	}
}

// A cell that will not die is named until it is gone.
func TestPoisonedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, sh, who := graveyard(t, well)
		sh.SetFaults(fake.Faults{DestroyFails: 4})
		if answer, _ := b.ask(t.Context(), req("free")); answer.Error != nil {
			t.Fatal(answer.Error)
		}
		synctest.Wait()
		listed, _ := sh.List(t.Context())
		if names := b.Poisoned(); len(names) != 1 || names[0] != listed[0].Name || !slices.Equal(who.named(), names) {
			t.Errorf("poisoned: %v, told: %v, listed: %+v", names, who.named(), listed)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(b.Poisoned()) != 0 || len(who.named()) != 0 || who.told != 2 {
			t.Errorf("still poisoned: %v; told %v, %d times", b.Poisoned(), who.named(), who.told)
		}
		if answer, _ := b.ask(t.Context(), req("free")); answer.Error != nil {
			t.Fatal(answer.Error)
		}
	})
}

// Who gives up leaves on record what lives.
func TestGivingUpPoisons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver, who := fake.New(program(well)), &parish{}
		s, err := New(Config{
			Driver: driver, Images: store{}, Skills: catalog(t), Instance: "test", Owners: who, Runner: runnerTree,
			DefaultImages: map[string]string{"python": "img"},
		})
		if err != nil {
			t.Fatal(err)
		}
		driver.SetFaults(fake.Faults{DestroyFails: 1 << 30})
		b := &bench{Supervisor: s, driver: driver}
		if answer, _ := b.ask(t.Context(), req("free")); answer.Error != nil {
			t.Fatal(answer.Error)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("drain: %v", err)
		}
		synctest.Wait()
		left, _ := driver.List(t.Context())
		if len(left) != 1 || !slices.Equal(who.named(), []string{left[0].Name}) {
			t.Errorf("left %+v, told %v", left, who.named())
		}
		if err := driver.Remove(t.Context(), left[0].ID); err != nil {
			t.Error(err)
		}
	})
}

// A cell whose creation failed on the way is looked for, and on record until it is known to be gone.
func TestALostCreation(t *testing.T) {
	lost := fmt.Errorf("create: %w", sandbox.ErrUnavailable)
	t.Run("found by the sweep", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, sh, who := graveyard(t, well)
			sh.SetFaults(fake.Faults{Create: func(*sandbox.Spec) error { return lost }, CreateLeaks: true})
			if answer, _ := b.ask(t.Context(), req("free")); verdict(answer) != "sandbox_crash/engine_unavailable" {
				t.Fatal(verdict(answer))
			}
			for range 4 {
				if err := b.Sweep(t.Context()); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
			}
			if live := sh.Stats().Live; live != 0 || len(b.held.cells) != 0 || who.told != 0 {
				t.Errorf("%d cells live, %v are held, told %d times", live, b.held.cells, who.told)
			}
		})
	})
	t.Run("left at the end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, sh, who := graveyard(t, well)
			sh.SetFaults(fake.Faults{Create: func(*sandbox.Spec) error { return lost }, CreateLeaks: true})
			b.ask(t.Context(), req("free"))
			left, _ := sh.List(t.Context())
			if err := b.Drain(t.Context()); err != nil || len(left) != 1 || !slices.Equal(who.named(), []string{left[0].Name}) {
				t.Errorf("left %+v, told %v, %v", left, who.named(), err)
			}
			if err := sh.Driver.Remove(t.Context(), left[0].ID); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("refused for good", func(t *testing.T) {
		b, sh, who := graveyard(t, well)
		sh.SetFaults(fake.Faults{Create: func(*sandbox.Spec) error { return sandbox.ErrUnsupported }})
		b.ask(t.Context(), req("free"))
		if err := b.Drain(t.Context()); err != nil || len(who.named()) != 0 {
			t.Errorf("told %v, %v", who.named(), err)
		}
	})
}

func TestLostCreationsAreBounded(t *testing.T) {
	h := newHeld(func([]string) error { return nil })
	for i := range 2 * maxLost {
		h.take(fmt.Sprint("used", i)) // which is none of it, however many there are
	}
	for i := range 2 * maxLost {
		name := fmt.Sprint(i)
		h.take(name)
		h.lose(name)
	}
	if h.lost() != maxLost || len(h.cells) != 3*maxLost {
		t.Errorf("%d of %d are remembered as lost, want %d of %d", h.lost(), len(h.cells), maxLost, 3*maxLost)
	}
}
