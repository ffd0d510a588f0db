package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

const (
	canaryName  = "canary"
	canaryLimit = 20 * time.Second // of the call
	canaryTidy  = 15 * time.Second // until its cell is gone
	canaryAgain = 3 * time.Second  // after one that failed
)

// Canary sees whether cells can be made, by making one: it runs the whole life of a call, in a cell of the built-in image,
// apart from all others. It is nobody's call: no principal, no quota, no journal knows of it.
type Canary struct {
	every time.Duration
	sing  func(ctx context.Context) error
	told  CanaryObserver
	log   *slog.Logger

	mu    sync.Mutex
	first chan struct{} // closed once the first verdict is there
	sang  bool
	wrong error
	ill   int // failures in a row
}

// CanaryObserver is told what the canary finds, for metrics.
type CanaryObserver interface {
	Sang(ok bool, took time.Duration)
	Ready(yes bool)
}

// newCanary returns nil where the configuration wants none.
func newCanary(every time.Duration, sing func(context.Context) error, told CanaryObserver, log *slog.Logger) *Canary {
	if every <= 0 {
		return nil
	}
	return &Canary{every: every, sing: sing, told: told, log: log, first: make(chan struct{})}
}

// Run makes a canary cell now and then until ctx ends. After one that failed it looks again soon. A cell that is being made
// then is still cleared away.
func (c *Canary) Run(ctx context.Context) {
	if c == nil {
		return
	}
	c.told.Ready(false) // what is known at first: a canary that hangs from the start is noticed, too
	for ctx.Err() == nil {
		began := time.Now()
		err := c.sing(ctx)
		if ctx.Err() != nil {
			return // it was disturbed, and says nothing
		}
		pause := c.every
		if c.verdict(err, time.Since(began)) != nil {
			pause = min(pause, canaryAgain)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// patience is how many canaries may fail in a row before that says something: one may meet a moment of bad luck.
const patience = 2

func (c *Canary) verdict(err error, took time.Duration) error {
	c.told.Sang(err == nil, took)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		if c.wrong != nil {
			c.log.Info("cells can be made again: the canary is well", "failed", c.ill)
		}
		c.ill, c.wrong = 0, nil
	default:
		if c.ill++; c.ill == patience {
			c.log.Error("no cells can be made: the canary failed twice in a row, and hotcell is not ready until it is well", "error", err)
		}
		if c.ill >= patience {
			c.wrong = fmt.Errorf("the canary cell failed %d times in a row: %w", c.ill, err)
		}
	}
	if !c.sang && (err == nil || c.ill >= patience) {
		c.sang = true
		close(c.first)
	}
	c.told.Ready(c.sang && c.wrong == nil)
	return err
}

var errNoSong = errors.New("no canary cell has run yet: hotcell has just started, or the engine is slow")

// Ready says why no cells can be made, as far as the canary knows. Right after the start it waits for the first canary.
func (c *Canary) Ready(ctx context.Context) error {
	if c == nil {
		return nil
	}
	select {
	case <-c.first:
	case <-ctx.Done():
		return errNoSong
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrong
}

// song returns what makes one canary cell. It has a supervisor to itself for that call, so that neither a queue nor a full
// house has a say; its cell carries this process's labels. What is left of it is destroyed before the next, and the reaper knows it too.
func song(cfg *config.Config, p *parts) func(context.Context) error {
	policy := cfg.OperatorPolicy()
	policy.Limits = policies.Limits{} // the canary's own are smaller than any bound
	skill := ProbeSkill(canaryName, images.Builtin, canaryLimit)
	old := &nest{driver: p.driver, me: p.me.ID()}
	return func(ctx context.Context) (err error) {
		if err := old.empty(ctx); err != nil {
			return err
		}
		s, err := executor.New(executor.Config{
			Driver: p.driver, Images: p.images, Skills: OneSkill(skill), Runner: p.runner, Policy: policy, Pull: images.PullNever,
			MaxCells: 1, Instance: p.me.ID(), Host: HostID(), RunDir: RunDir(cfg), Log: nil,
		})
		if err != nil {
			return err
		}
		defer func() {
			tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), canaryTidy)
			defer cancel()
			gone := s.Drain(tidy)
			old.left = s.Poisoned()
			if gone != nil && err == nil {
				err = errors.New("it ran, but its cell could not be destroyed")
			}
		}()
		return verdictOf(s.Call(ctx, a2e.Caller{Door: canaryName}, &a2e.CallRequest{Name: skill.Name}, nil))
	}
}

// nest knows the cells that the canary before left. They are destroyed before another is made: else they would pile up.
type nest struct {
	driver hearse
	me     string // whose cells they are
	left   []string
}

// hearse is what a nest needs of a driver.
type hearse interface {
	List(ctx context.Context) ([]sandbox.Listed, error)
	Remove(ctx context.Context, id string) error
}

// empty destroys what is left. The reaper would do so too, but gives cells of our own that nobody uses minutes, and hotcell is
// not ready meanwhile.
func (n *nest) empty(ctx context.Context) error {
	if len(n.left) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, canaryLimit)
	defer cancel()
	all, err := n.driver.List(ctx)
	if err != nil {
		return fmt.Errorf("nobody knows whether the cell of the canary before is gone: %s", PlainEngine(err.Error()))
	}
	for _, l := range all {
		if l.Kind != "cell" || l.Labels[sandbox.LabelInstance] != n.me || !slices.Contains(n.left, l.Name) {
			continue
		}
		if err := n.driver.Remove(ctx, l.ID); err != nil {
			return fmt.Errorf("the cell of the canary before, %s, could not be destroyed, and no other is made until it is gone: %s", l.Name, PlainEngine(err.Error()))
		}
	}
	n.left = nil
	return nil
}

func verdictOf(answer *a2e.CallResponse) error {
	if e := answer.Error; e != nil {
		return fmt.Errorf("%s: %s", e.Code, PlainEngine(e.Message))
	}
	return nil
}
