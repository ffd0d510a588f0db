package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

const (
	sweepEvery   = time.Minute
	listLimit    = 30 * time.Second
	removeLimit  = 10 * time.Second // of one removal; what takes longer is tried again by the next sweep
	removers     = 2                // removals at once, not counting those that hang
	removersCalm = 2 * time.Second  // after this long a removal hangs, and another may begin
)

// early are the first pauses between sweeps. An engine may still be working on what a dead supervisor asked for last when
// the next one starts.
var early = []time.Duration{2 * time.Second, 3 * time.Second}

// undertaker is an [Owners] that keeps the dead on record until nothing of them is left.
type undertaker interface {
	Forget(left func(instance string) bool) error
}

// reaper is what one sweep remembers for the next.
type reaper struct {
	sweeping chan struct{}        // one sweep at a time
	since    map[string]time.Time // when what is not in use by us was first listed, by id
	told     map[string]bool      // what was logged once and is still there, by id
}

func newReaper() *reaper {
	return &reaper{sweeping: make(chan struct{}, 1), told: map[string]bool{}}
}

// Tend closes the calls that dead supervisors left open, removes what is left behind and has the journal trimmed: at once,
// and then again each minute and when another is found dead, until ctx ends or the supervisor gives up. One Tend a supervisor is enough.
func (s *Supervisor) Tend(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.base, cancel)()
	beside.Go(func() { s.heed(ctx) })
	failing := false
	for i := 0; ; i++ {
		err := errors.Join(s.Recover(ctx), s.Sweep(ctx), s.Trim(ctx))
		if err != nil && ctx.Err() == nil && !failing { // said once, not every minute
			s.log.Warn("not all that is old or left behind could be cleared away, which is tried again every minute", "error", err)
		}
		failing = err != nil
		s.takeStock(ctx, i > 0)
		pause := sweepEvery
		if i < len(early) {
			pause = early[i]
		}
		select {
		case <-time.After(pause):
		case <-s.deaths():
			i = -1
		case <-ctx.Done():
			return
		}
	}
}

// mourner is an [Owners] that hears of others' deaths.
type mourner interface{ Deaths() <-chan struct{} }

// deaths tells that some supervisor was found dead. It is nil where only a look tells.
func (s *Supervisor) deaths() <-chan struct{} {
	if m, ok := s.cfg.Owners.(mourner); ok {
		return m.Deaths()
	}
	return nil
}

// Sweep asks the engine once for everything with hotcell's labels and removes what is garbage: what nobody uses any more,
// of this supervisor, of dead ones, and of any once it has expired. It touches nothing that a live one uses. It returns
// when all is removed or was tried; what hangs costs it seconds and holds up nothing else.
func (s *Supervisor) Sweep(ctx context.Context) error {
	select {
	case s.reaper.sweeping <- struct{}{}:
		defer func() { <-s.reaper.sweeping }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	look, cancel := context.WithTimeout(ctx, listLimit)
	all, err := s.cfg.Driver.List(look)
	cancel()
	if err != nil {
		s.watch.Swept(false)
		return fmt.Errorf("look for what is left behind: %w", err)
	}
	owners, cells, rest := s.condemn(all, time.Now())
	_, err0 := s.remove(ctx, owners)
	lives, err := s.remove(ctx, cells)
	later := rest[:0]
	for _, d := range rest {
		if d.Kind != "cgroup" || !lives[d.Name] { // a cgroup goes after its cell
			later = append(later, d)
		}
	}
	_, err2 := s.remove(ctx, later)
	err = errors.Join(err0, err, err2)
	s.watch.Swept(err == nil)
	return errors.Join(err, s.forgetDead(all))
}

// Poisoned returns the names of this supervisor's cells that were to be destroyed and live, sorted. They keep their
// reservations.
func (s *Supervisor) Poisoned() []string { return s.held.poisoned() }

// doomed is a listed thing that is to be removed, and why.
type doomed struct {
	sandbox.Listed
	why string
}

// condemn returns what of the listed is garbage: what stands for dead supervisors, with which an engine may remove all that is theirs,
// the containers, and what can go only after them.
func (s *Supervisor) condemn(all []sandbox.Listed, now time.Time) (owners, cells, rest []doomed) {
	since, here := map[string]time.Time{}, map[string]bool{}
	box := map[string]sandbox.Listed{} // by a cell's name
	for _, l := range all {
		here[l.ID] = true
		if l.Kind == "cell" {
			box[l.Name] = l
		}
	}
	unused := surplus(all, now, s.uses.of(all, now), s.cfg.Volumes)
	for _, l := range all {
		judged := l
		if cell, ok := box[l.Name]; ok && l.Kind == "cgroup" && cell.Labels[sandbox.LabelInstance] == l.Labels[sandbox.LabelInstance] {
			judged = cell // a cgroup shares the fate of the cell within it
		}
		j := garbage(judged, now, s.standing(judged, now, since))
		j.garbage = cmp.Or(j.garbage, unused[l.ID])
		switch {
		case j.odd != "":
			s.once(l, "something with hotcell's labels is not hotcell's, and is left alone", "because", j.odd)
		case j.garbage == "":
		case l.Kind == "instance":
			owners = append(owners, doomed{l, j.garbage})
		case l.Kind == "cell" || l.Kind == "fill":
			cells = append(cells, doomed{l, j.garbage})
		default:
			rest = append(rest, doomed{l, j.garbage})
		}
	}
	s.reaper.since = since
	for id := range s.reaper.told {
		if !here[id] {
			delete(s.reaper.told, id)
		}
	}
	names := map[string]bool{}
	for name := range box {
		names[name] = true
	}
	s.held.find(names, now)
	return owners, cells, rest
}

// standing gathers what is known of a thing's owner. What is not in use by us is noted in since.
func (s *Supervisor) standing(l sandbox.Listed, now time.Time, since map[string]time.Time) standing {
	owner := l.Labels[sandbox.LabelInstance]
	st := standing{ours: owner == s.cfg.Instance}
	switch {
	case owner == "" || l.Kind == "volume":
	case st.ours && l.Kind != "fill" && (s.held.inUse(l.Name) || s.waits(l.Name)):
		st.inUse = true
	default:
		first, ok := s.reaper.since[l.ID]
		if !ok {
			first = now
		}
		since[l.ID] = first
		if st.ours {
			st.unused = now.Sub(first)
			break
		}
		st.jumped = jumped(now.Round(0).Sub(first.Round(0)), now.Sub(first)) // rounded, a time has the wall's clock alone
		if s.cfg.Owners != nil {
			st.alive, st.known = s.cfg.Owners.Alive(owner)
		}
	}
	return st
}

// jumped is how far the wall's clock went ahead of the time that really passed.
func jumped(wall, passed time.Duration) time.Duration { return max(0, wall-passed) }

// remove removes the doomed, a few at once, and returns the names of those that live and what went wrong. A volume that
// is in use stays, and that is no error.
func (s *Supervisor) remove(ctx context.Context, list []doomed) (lives map[string]bool, err error) {
	lives = map[string]bool{}
	var mu sync.Mutex
	var errs []error
	var group sync.WaitGroup
	turn := make(chan struct{}, removers)
	for _, d := range list {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			next := sync.OnceFunc(func() { <-turn })
			defer next()
			defer time.AfterFunc(removersCalm, next).Stop()
			err := s.removeOne(ctx, d)
			if err == nil || d.Kind == "volume" {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			lives[d.Name] = true
			errs = append(errs, err)
		})
	}
	group.Wait()
	if n := len(errs); n > 0 {
		return lives, fmt.Errorf("%d of %d could not be removed, the first: %w", n, len(list), errs[0])
	}
	return lives, context.Cause(ctx)
}

func (s *Supervisor) removeOne(ctx context.Context, d doomed) error {
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	log := s.log.With("kind", d.Kind, "name", clip(d.Name, 80), "state", d.State, "owner", clip(d.Labels[sandbox.LabelInstance], 64))
	err := s.cfg.Driver.Remove(ctx, d.ID)
	if err != nil {
		log.Debug("what is left behind is not removed yet", "because", d.why, "error", err)
		return fmt.Errorf("%s %s: %w", d.Kind, clip(d.Name, 80), err)
	}
	s.watch.Reaped(d.Kind)
	log.Info("removed what was left behind", "because", d.why)
	return nil
}

// forgetDead lets the owners forget the dead of whom nothing was listed.
func (s *Supervisor) forgetDead(all []sandbox.Listed) error {
	u, ok := s.cfg.Owners.(undertaker)
	if !ok {
		return nil
	}
	left := map[string]bool{}
	for _, l := range all {
		left[l.Labels[sandbox.LabelInstance]] = true
	}
	return u.Forget(func(instance string) bool { return left[instance] })
}

// once says something about a thing, the first time that it is seen so.
func (s *Supervisor) once(l sandbox.Listed, text string, args ...any) {
	if !s.reaper.told[l.ID] {
		s.reaper.told[l.ID] = true
		s.log.With("kind", clip(l.Kind, 80), "name", clip(l.Name, 80), "id", clip(l.ID, 80)).Info(text, args...)
	}
}
