package console

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// Bounds of pulls.
const (
	maxPulls  = 4  // at once
	keptPulls = 12 // that ended, of which pages tell
	pullLimit = time.Hour
	pullEvery = time.Second // between two pictures of how far they are
)

// pulls are those that pages began. They outlive their requests, and end with [Console.Run].
type pulls struct {
	mu  sync.Mutex
	all []*pull // the newest first
}

// pull is one of them.
type pull struct {
	Ref, Who     string
	Began, Ended time.Time // Ended is zero while it runs
	Step         string
	Done, Total  int64
	Digest       string // that the tag is pinned to now
	Fault        string
}

// pullsView is how they are at one moment.
type pullsView struct {
	Pulls   []pull
	Running bool
}

// Percent is how far a pull is; -1 where nobody knows.
func (p pull) Percent() int {
	if p.Total <= 0 {
		return -1
	}
	return int(min(100, 100*p.Done/p.Total))
}

// Runs reports whether it has not ended.
func (p pull) Runs() bool { return p.Ended.IsZero() }

// same is a name under which two spellings of a tag are one.
func same(ref string) string {
	ref = strings.TrimPrefix(strings.TrimPrefix(ref, "docker.io/"), "library/")
	if !strings.Contains(ref[strings.LastIndexByte(ref, '/')+1:], ":") {
		ref += ":latest"
	}
	return ref
}

// begin makes a place for a pull. It returns nil where the tag is being pulled already.
func (p *pulls) begin(ref, who string) (*pull, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := 0
	for _, one := range p.all {
		switch {
		case !one.Runs():
		case same(one.Ref) == same(ref):
			return nil, nil
		default:
			running++
		}
	}
	if running >= maxPulls {
		return nil, &trouble{status: http.StatusServiceUnavailable, title: "Busy", message: fmt.Sprintf("%d images are being pulled, which is as many as may be at once. Wait until one of them is here.", maxPulls)}
	}
	made := &pull{Ref: ref, Who: who, Began: time.Now(), Step: "asking the registry"}
	p.all = slices.DeleteFunc(p.all, func(one *pull) bool { return !one.Runs() && same(one.Ref) == same(ref) })
	p.all = append([]*pull{made}, p.all...)
	ended := 0
	p.all = slices.DeleteFunc(p.all, func(one *pull) bool {
		if one.Runs() {
			return false
		}
		ended++
		return ended > keptPulls
	})
	return made, nil
}

func (p *pulls) drop(one *pull) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(other *pull) bool { return other == one })
}

// note has change write to a pull.
func (p *pulls) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *pulls) view() (view pullsView) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.all {
		view.Pulls = append(view.Pulls, *one)
		view.Running = view.Running || one.Runs()
	}
	return view
}

// pullImage begins a pull. It goes on when the browser leaves.
func (v *visit) pullImage() error {
	ref, err := v.ref()
	if err != nil {
		return err
	}
	one, err := v.pulls.begin(ref, v.who.Principal)
	switch {
	case err != nil:
		return err
	case one == nil:
		return v.done(at("images"), "pull-running")
	}
	if !v.starts.run(v.ctx(), func(ctx context.Context) { v.carryPull(ctx, one) }) {
		v.pulls.drop(one)
		return &trouble{status: http.StatusServiceUnavailable, title: "Shutting down", message: "hotcell is shutting down. Try again once it is back."}
	}
	return v.done(at("images"), "pull-started")
}

// carryPull pulls, and notes what became of it. A panic there ends the pull and not the process.
func (v *visit) carryPull(ctx context.Context, one *pull) {
	ctx, cancel := context.WithTimeout(ctx, pullLimit)
	defer cancel()
	end := func(row control.ImageRow, fault string) {
		v.pulls.note(func() {
			one.Ended, one.Fault, one.Digest = time.Now(), fault, row.Digest
			if row.Digest == "" {
				one.Digest = row.ID
			}
		})
	}
	defer func() {
		if p := recover(); p != nil {
			v.o.Log.Error("console: a pull panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			end(control.ImageRow{}, "Something failed inside hotcell; its log says what.")
		}
	}()
	row, err := v.o.Images.Pull(ctx, one.Ref, func(p control.PullProgress) {
		v.pulls.note(func() { one.Step, one.Done, one.Total = p.Step, p.Done, p.Total })
	})
	switch {
	case err == nil:
		end(row, "")
	case ctx.Err() != nil:
		end(row, "It was broken off: it took longer than an hour, or hotcell was shut down.")
	default:
		end(row, v.troubleOf(err).message)
	}
}

// imagesLive keeps the list of pulls up to date until none runs.
func (v *visit) imagesLive() error {
	return v.live(pullEvery, func(context.Context) ([]piece, error) {
		view := v.pulls.view()
		one, err := v.piece("pulls", "images", "pulls", view)
		if err == nil && !view.Running {
			err = errEnded
		}
		return []piece{one}, err
	})
}
