package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

const (
	examLimit    = 90 * time.Second
	examPatience = 3 * time.Second // for one to end while its page waits
)

func (c *Console) doctorPages() []page {
	if c.o.Doctor == nil {
		return nil
	}
	const base = Base + "/doctor"
	return []page{
		{pattern: "GET " + base, scope: auth.Admin, serve: (*visit).doctor},
		{pattern: "GET " + base + "/live", scope: auth.Admin, serve: (*visit).doctorLive},
		{pattern: "POST " + base, scope: auth.Admin, serve: (*visit).examineAgain},
	}
}

// exams are the examinations of this host: one at a time, whoever asks, and the last one's result.
type exams struct {
	mu      sync.Mutex
	running chan struct{} // is closed at the end of the one that runs; nil: none
	began   time.Time
	last    *control.Examination
	fault   string // why the last one has no result
}

// doctorView is what the last examination found.
type doctorView struct {
	*control.Examination // nil: there is none yet
	Running              bool
	Began                time.Time
	Fault                string
	Fails, Warns, Skips  int
	Good                 int
}

func (e *exams) view() doctorView {
	e.mu.Lock()
	defer e.mu.Unlock()
	view := doctorView{Examination: e.last, Running: e.running != nil, Began: e.began, Fault: e.fault}
	if e.last == nil {
		return view
	}
	for _, f := range e.last.Findings {
		switch f.Level {
		case "fail":
			view.Fails++
		case "warn":
			view.Warns++
		case "ok":
			view.Good++
		default:
			view.Skips++
		}
	}
	return view
}

// worst sorts findings: what failed comes first.
func worst(all []control.Finding) []control.Finding {
	rank := map[string]int{"fail": 0, "warn": 1, "skip": 2, "ok": 3}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b control.Finding) int { return cmp.Compare(rank[a.Level], rank[b.Level]) })
	return sorted
}

// examine has an examination begin unless one runs, and returns what is closed at its end; nil where hotcell shuts down.
func (v *visit) examine() <-chan struct{} {
	v.exams.mu.Lock()
	defer v.exams.mu.Unlock()
	if v.exams.running != nil {
		return v.exams.running
	}
	done := make(chan struct{})
	if !v.starts.run(v.ctx(), func(ctx context.Context) { v.carryExam(ctx, done) }) {
		return nil
	}
	v.exams.running, v.exams.began = done, time.Now()
	return done
}

// carryExam examines, and keeps the result. A panic there ends the examination and not the process.
func (c *Console) carryExam(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, examLimit)
	defer cancel()
	found, err := c.examineSafely(ctx)
	fault := ""
	switch {
	case err == nil && found != nil:
		found.Findings = worst(found.Findings)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		fault = fmt.Sprintf("The examination did not end within %s. An engine that hangs is the likeliest reason: look whether it answers.", tookText(examLimit))
	default:
		c.o.Log.Error("console: the examination failed", "error", err)
		fault = "The examination failed inside hotcell; its log says how."
	}
	c.exams.mu.Lock()
	defer c.exams.mu.Unlock()
	if fault == "" {
		c.exams.last = found
	}
	c.exams.running, c.exams.fault = nil, fault
	close(done)
}

func (c *Console) examineSafely(ctx context.Context) (found *control.Examination, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return c.o.Doctor.Examine(ctx)
}

func (v *visit) doctor() error {
	view := v.exams.view()
	if view.Running || view.Examination == nil && view.Fault == "" {
		v.await(v.examine())
	}
	return v.render("doctor", "Doctor", v.exams.view())
}

// await waits a moment for what is under way, so that most pages have its result.
func (v *visit) await(done <-chan struct{}) {
	if done == nil {
		return
	}
	select {
	case <-done:
	case <-time.After(examPatience):
	case <-v.ctx().Done():
	}
}

func (v *visit) examineAgain() error {
	v.examine()
	return v.done(at("doctor"), "")
}

// doctorLive shows the result once it is there.
func (v *visit) doctorLive() error {
	return v.live(time.Second, func(context.Context) ([]piece, error) {
		view := v.exams.view()
		if view.Running {
			return nil, nil
		}
		one, err := v.piece("result", "doctor", "result", view)
		if err == nil {
			err = errEnded
		}
		return []piece{one}, err
	})
}
