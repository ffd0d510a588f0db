package js

import (
	"container/heap"
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
	pending int // work that will post a job
	timers  map[int64]*timer
	due     schedule // of these
	last    int64    // a timer's number
	failed  error    // by a callback of a timer
	working sync.WaitGroup

	mu   sync.Mutex
	jobs []func()
	wake chan struct{}
}

// timer is due at a time, and is called back before any other that is due later or was set later.
type timer struct {
	id       int64
	at       time.Time
	place    int // in the schedule
	callback sobek.Callable
	args     []sobek.Value
	every    time.Duration // 0: once
}

// schedule is a heap of timers, the next one first.
type schedule []*timer

func (s schedule) Len() int { return len(s) }
func (s schedule) Less(i, j int) bool {
	if s[i].at.Equal(s[j].at) {
		return s[i].id < s[j].id
	}
	return s[i].at.Before(s[j].at)
}
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i, j
}
func (s *schedule) Push(t any) {
	t.(*timer).place = len(*s)
	*s = append(*s, t.(*timer))
}
func (s *schedule) Pop() any {
	last := len(*s) - 1
	t := (*s)[last]
	(*s)[last], *s = nil, (*s)[:last]
	return t
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

// run runs jobs and timers until done. It fails with errIdle where nothing can come any more.
func (l *loop) run(done func() bool) error {
	for !done() {
		jobs := l.take()
		if len(jobs) == 0 && !l.ripe() {
			if l.pending == 0 && len(l.due) == 0 {
				return errIdle
			}
			if err := l.rest(); err != nil {
				return err
			}
			continue
		}
		for _, job := range jobs {
			job()
			if err := l.over(); err != nil {
				return err
			}
		}
		if l.ripe() {
			l.fire(l.due[0])
			if err := l.over(); err != nil {
				return err
			}
		}
	}
	return nil
}

// over is why nothing more may run; nil while it may.
func (l *loop) over() error {
	if l.failed == nil && l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	return l.failed
}

// ripe reports whether a timer is due.
func (l *loop) ripe() bool { return len(l.due) > 0 && !time.Now().Before(l.due[0].at) }

// rest waits for a job or the next timer.
func (l *loop) rest() error {
	var next <-chan time.Time
	if len(l.due) > 0 {
		t := time.NewTimer(time.Until(l.due[0].at))
		defer t.Stop()
		next = t.C
	}
	select {
	case <-l.wake:
	case <-next:
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
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
	t := &timer{id: l.last, at: time.Now().Add(delay), callback: callback, args: args}
	if again {
		t.every = delay
	}
	l.timers[t.id] = t
	heap.Push(&l.due, t)
	return t.id
}

func (l *loop) fire(t *timer) {
	if t.every == 0 {
		l.forget(t.id)
	} else {
		t.at = time.Now().Add(t.every)
		heap.Fix(&l.due, t.place)
	}
	if _, err := t.callback(sobek.Undefined(), t.args...); err != nil {
		l.failed = err
	}
}

// forget stops a timer, if there is one.
func (l *loop) forget(id int64) {
	if t, ok := l.timers[id]; ok {
		delete(l.timers, id)
		heap.Remove(&l.due, t.place)
	}
}

// close forgets the timers and waits for the work; the context must have ended.
func (l *loop) close() {
	clear(l.timers)
	l.due = nil
	l.working.Wait()
}
