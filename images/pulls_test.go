package images

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var errLeft = errors.New("left")

// A pull belongs to nobody: it goes on for a while when all have left, and whoever comes meanwhile gets it.
func TestPullsLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPulls(time.Hour)
		defer p.Close()
		var begun, ended atomic.Int32
		pull := func(took time.Duration) func(context.Context, func(Progress)) error {
			return func(ctx context.Context, tell func(Progress)) error {
				begun.Add(1)
				defer ended.Add(1)
				tell(Progress{Ref: "x", Step: "downloading", Done: 1})
				select {
				case <-time.After(took):
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
		}
		leaver, leave := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { leave(errLeft) })
		if err := p.Do(leaver, "x", pull(time.Minute)); !errors.Is(err, errLeft) {
			t.Errorf("the one that left: %v", err)
		}
		time.Sleep(linger - time.Second)
		var heard []Progress
		ctx := WithProgress(t.Context(), func(now Progress) { heard = append(heard, now) })
		if err := p.Do(ctx, "x", pull(time.Minute)); err != nil || begun.Load() != 1 || len(heard) != 1 {
			t.Errorf("the one that came: %v, %d pulls, heard %v", err, begun.Load(), heard)
		}
		leaver, leave = context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { leave(errLeft) })
		if err := p.Do(leaver, "x", pull(time.Minute)); !errors.Is(err, errLeft) {
			t.Errorf("the next that left: %v", err)
		}
		time.Sleep(linger + time.Second)
		if begun.Load() != 2 || ended.Load() != 2 {
			t.Errorf("%d of %d pulls ended with nobody there", ended.Load(), begun.Load())
		}
		if err := p.Do(t.Context(), "x", pull(time.Minute)); err != nil || begun.Load() != 3 {
			t.Errorf("the last: %v, %d pulls", err, begun.Load())
		}
	})
}

// A pull ends after its limit, with the store, and not before its time.
func TestPullsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPulls(time.Minute)
		hang := func(ctx context.Context, _ func(Progress)) error { <-ctx.Done(); return context.Cause(ctx) }
		began := time.Now()
		if err := p.Do(t.Context(), "x", hang); !errors.Is(err, ErrTooLong) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := p.Do(t.Context(), "x", hang); !errors.Is(err, ErrClosed) {
					t.Errorf("while it is closed: %v", err)
				}
			})
		}
		synctest.Wait()
		if n := p.Waiting(); n != 3 {
			t.Errorf("%d wait", n)
		}
		p.Close()
		all.Wait()
		if err := p.Do(t.Context(), "x", hang); !errors.Is(err, ErrClosed) {
			t.Errorf("afterwards: %v", err)
		}
	})
}
