package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// parallel are the numbers of callers at a time.
var parallel = []int{1, 4, 16, 64}

// sustained is one way to serve calls for a while: hotcell's, and the bare loop that does the same work.
type sustained struct {
	key    string // in the ratios' names
	name   string
	flavor flavor
	warm   bool
}

func loads() []sustained {
	return []sustained{
		{"docker_warm", "docker, warm", onDocker, true},
		{"docker_cold", "docker, cold", onDocker, false},
		{"oci_warm", "oci, warm", onOCI, true},
		{"oci_cold", "oci, cold", onOCI, false},
	}
}

func (l sustained) at(n int) string    { return fmt.Sprintf("hotcell, %s, %d in flight", l.name, n) }
func (l sustained) rawAt(n int) string { return fmt.Sprintf("raw loop, %s, %d in flight", l.name, n) }

// calls is how many calls one measurement has: enough that all callers have two at least, and that the first and the last are few.
func (b *bench) calls(at int) int {
	if b.short {
		return max(6, at)
	}
	return max(32, 2*at)
}

// turn is one side of a load with so many callers.
type turn struct {
	name string
	at   int
	work func() (work, error)
}

// turns are all that are wanted, hotcell and the raw loop next to one another.
func (b *bench) turns() (all []turn) {
	for _, at := range parallel {
		for _, l := range loads() {
			for _, t := range []turn{
				{l.at(at), at, func() (work, error) { return b.served(l) }},
				{l.rawAt(at), at, func() (work, error) { return b.loop(l, at) }},
			} {
				if b.wants("throughput", t.name) {
					all = append(all, t)
				}
			}
		}
	}
	return all
}

// throughputSection lets all take turns, five times over. Who of two neighbours is first changes with each pass, after the first:
// there a raw loop learns from hotcell how many wait.
func throughputSection(ctx context.Context, b *bench) error {
	turns, figures := b.turns(), map[string][]float64{}
	for pass := range passes(b.short) {
		for i := range turns {
			t := turns[i]
			if next := i ^ 1; pass%2 == 1 && next < len(turns) {
				t = turns[next]
			}
			if ctx.Err() != nil {
				break
			}
			b.say("throughput, pass %d: %s", pass+1, t.name)
			rate, err := b.pace(ctx, t.work, t.at)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				b.out("throughput", t.name, pass, err)
			default:
				figures[t.name] = append(figures[t.name], rate)
			}
		}
	}
	for _, t := range turns {
		if figures[t.name] != nil {
			b.report.add("throughput", t.name, unitCalls, figures[t.name]...)
		}
	}
	return ctx.Err()
}

func passes(short bool) int {
	if short {
		return 1
	}
	return 5
}

// work is what many do at a time.
type work struct {
	before func(ctx context.Context) error // makes the beginning the same for all; not measured
	call   func(ctx context.Context) error
	after  func(ctx context.Context) error // until all is as it was before, with as many cells that wait; measured
	clean  func(ctx context.Context) error // removes what was not used
}

// pace is how many calls a second are served, with the cells that take the place of those that waited and the end of those
// that were used.
func (b *bench) pace(ctx context.Context, make func() (work, error), at int) (rate float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*limit)
	defer cancel()
	l, err := make()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.clean(context.WithoutCancel(ctx))) }()
	if err := errors.Join(l.before(ctx), pause(ctx)); err != nil {
		return 0, err
	}
	calls, began := b.calls(at), time.Now()
	if err := together(ctx, at, calls, l.call); err != nil {
		return 0, err
	}
	if err := l.after(ctx); err != nil {
		return 0, err
	}
	return float64(calls) / time.Since(began).Seconds(), nil
}

// together makes so many calls, at most at of them at a time.
func together(ctx context.Context, at, calls int, call func(context.Context) error) error {
	var left atomic.Int64
	left.Store(int64(calls))
	var workers sync.WaitGroup
	failed := make([]error, at)
	for i := range at {
		workers.Go(func() {
			for failed[i] == nil && left.Add(-1) >= 0 {
				failed[i] = call(ctx)
			}
		})
	}
	workers.Wait()
	return errors.Join(failed...)
}

// served is the load of hotcell: a frames skill, so that its own share of a call is as large as it can be.
func (b *bench) served(l sustained) (work, error) {
	s, err := b.yard.site(l.flavor, l.warm)
	if err != nil {
		return work{}, err
	}
	serve := work{
		before: s.settle,
		call: func(ctx context.Context) error {
			_, err := s.call(ctx, framesSkill)
			return err
		},
		after: s.settle,
		clean: func(context.Context) error { return nil },
	}
	if l.warm {
		serve.before = func(ctx context.Context) (err error) {
			s.stock, err = s.full(ctx, framesSkill)
			return err
		}
		serve.after = func(ctx context.Context) error {
			return await(ctx, func() bool { return s.busy.Load() == 0 && len(s.Pool.Waiting(names[framesSkill])) >= s.stock })
		}
	}
	return serve, nil
}

// full makes a burst of calls and waits until as many cells wait for the next one as hotcell then thinks right. It returns
// how many these are.
func (s *site) full(ctx context.Context, skill string) (int, error) {
	err := together(ctx, places, places, func(ctx context.Context) error {
		_, err := s.call(ctx, skill)
		return err
	})
	if err != nil {
		return 0, err
	}
	have, since := 0, time.Now()
	err = await(ctx, func() bool {
		if n := len(s.Pool.Waiting(names[skill])); n != have || n == 0 || s.busy.Load() > 0 {
			have, since = n, time.Now()
		}
		return have == places || time.Since(since) > time.Second
	})
	return have, err
}
