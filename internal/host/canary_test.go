package host

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/sandbox"
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

// A cell that a canary left and nobody destroyed keeps the next from making another.
func TestCanaryCellsDoNotPileUp(t *testing.T) {
	var all []sandbox.Listed
	var failed error
	asked := 0
	n := &nest{list: func(context.Context) ([]sandbox.Listed, error) { asked++; return all, failed }}
	if err := n.empty(t.Context()); err != nil || asked != 0 {
		t.Errorf("where none was left: %v, asked %d times", err, asked)
	}
	n.left, all = []string{"old"}, []sandbox.Listed{{Kind: "volume", Name: "old"}, {Kind: "cell", Name: "new"}, {Kind: "cell", Name: "old"}}
	if err := n.empty(t.Context()); err == nil || !strings.Contains(err.Error(), "old, could not be destroyed") {
		t.Errorf("while it lives: %v", err)
	}
	failed = errors.New("no answer")
	if err := n.empty(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("where nobody knows: %v", err)
	}
	all, failed = all[:2], nil
	if err := n.empty(t.Context()); err != nil || n.left != nil {
		t.Errorf("once it is gone: %v, left %v", err, n.left)
	}
}
