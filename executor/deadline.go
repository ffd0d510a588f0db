package executor

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errDeadline = errors.New("the call's deadline passed")

// limit is the context of what a call does in its cell. Some time after it was armed it ends, with [errDeadline]. Before that it
// only knows how long that will be: a call does not pay for the time in which its cell works and the journal has not taken it in.
type limit struct {
	context.Context
	cancel  context.CancelCauseFunc
	timeout time.Duration

	mu    sync.Mutex
	at    time.Time
	timer *time.Timer // nil: not armed
}

func newLimit(ctx context.Context, timeout time.Duration) *limit {
	l := &limit{timeout: timeout, at: time.Now().Add(timeout)}
	l.Context, l.cancel = context.WithCancelCause(ctx)
	return l
}

// Deadline implements [context.Context].
func (l *limit) Deadline() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if around, ok := l.Context.Deadline(); ok && around.Before(l.at) {
		return around, true
	}
	return l.at, true
}

// arm has the time begin to run, once, and returns when it ends.
func (l *limit) arm() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		l.at = time.Now().Add(l.timeout)
		l.timer = time.AfterFunc(l.timeout, func() { l.cancel(errDeadline) })
	}
	return l.at
}

// end gives back what it holds.
func (l *limit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.cancel(nil)
}
