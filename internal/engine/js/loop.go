package js

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/grafana/sobek"
)

// errIdle says that nothing is left that could happen.
var errIdle = errors.New("idle")

// loop runs a script's callbacks, one at a time. Its methods are the script's goroutine's alone, but for post.
type loop struct {
	ctx     context.Context
	rt      *sobek.Runtime
	pending int // work and timers that will post a job
	timers  map[int64]*timer
	last    int64 // a timer's number
	failed  error // by a callback of a timer
	working sync.WaitGroup

	mu   sync.Mutex
	jobs []func()
	wake chan struct{}
}

type timer struct {
	t        *time.Timer
	callback sobek.Callable
	args     []sobek.Value
	every    time.Duration // 0: once
}

func newLoop(ctx context.Context, rt *sobek.Runtime) *loop {
	return &loop{ctx: ctx, rt: rt, timers: map[int64]*timer{}, wake: make(chan struct{}, 1)}
}

// post adds a job. It is safe for concurrent use.
func (l *loop) post(job func()) {
	l.mu.Lock()
	l.jobs = append(l.jobs, job)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *loop) take() []func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	jobs := l.jobs
	l.jobs = nil
	return jobs
}

// run runs jobs until done. It fails with errIdle where no job can come any more.
func (l *loop) run(done func() bool) error {
	for !done() {
		jobs := l.take()
		if len(jobs) == 0 {
			if l.pending == 0 {
				return errIdle
			}
			select {
			case <-l.wake:
			case <-l.ctx.Done():
				return context.Cause(l.ctx)
			}
			continue
		}
		for _, job := range jobs {
			job()
			if l.failed != nil {
				return l.failed
			}
			if l.ctx.Err() != nil {
				return context.Cause(l.ctx)
			}
		}
	}
	return nil
}

// beside runs work on a goroutine of its own, and what it returns as a job.
func (l *loop) beside(work func(ctx context.Context) func()) {
	l.pending++
	l.working.Go(func() {
		after := work(l.ctx)
		l.post(func() {
			l.pending--
			after()
		})
	})
}

const maxDelay = time.Duration(1<<31-1) * time.Millisecond

// later calls back after a while, once or again and again.
func (l *loop) later(callback sobek.Callable, args []sobek.Value, delay time.Duration, again bool) int64 {
	delay = min(max(delay, time.Millisecond), maxDelay)
	l.last++
	id := l.last
	t := &timer{callback: callback, args: args}
	if again {
		t.every = delay
	}
	l.pending++
	l.timers[id] = t
	t.t = time.AfterFunc(delay, func() { l.post(func() { l.fire(id) }) })
	return id
}

func (l *loop) fire(id int64) {
	t, ok := l.timers[id]
	if !ok { // cleared meanwhile
		return
	}
	if t.every == 0 {
		l.forget(id)
	}
	if _, err := t.callback(sobek.Undefined(), t.args...); err != nil {
		l.failed = err
		return
	}
	if t.every > 0 && l.timers[id] != nil {
		t.t.Reset(t.every)
	}
}

// forget stops a timer, if there is one.
func (l *loop) forget(id int64) {
	if t, ok := l.timers[id]; ok {
		t.t.Stop()
		delete(l.timers, id)
		l.pending--
	}
}

// close stops the timers and waits for the work; the context must have ended.
func (l *loop) close() {
	for id := range l.timers {
		l.forget(id)
	}
	l.working.Wait()
}
