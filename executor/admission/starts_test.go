package admission

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// An engine that keeps up gets more starts, one that does not as few as at first, and one that fails at once no more than it had;
// nobody is left out.
func TestStartsFollowTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Starts
		var group sync.WaitGroup
		start := func(n int, takes time.Duration, up bool) {
			for range n {
				group.Go(func() {
					done, err := s.Acquire(t.Context(), "")
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(takes)
					done(up)
					done(up)
				})
			}
		}
		start(10*fewStarts, time.Second, false)
		group.Wait()
		start(10*fewStarts, time.Second, true)
		synctest.Wait()
		if out, room, waiting := s.Use(); out != fewStarts || room != fewStarts || waiting != 9*fewStarts {
			t.Errorf("%d of %d start, %d wait, want %d of %d and all others", out, room, waiting, fewStarts, fewStarts)
		}
		group.Wait()
		_, quick, _ := s.Use()
		if quick <= fewStarts {
			t.Errorf("%d may start after quick ones, want more than %d", quick, fewStarts)
		}
		start(100*fewStarts, 10*calmStart, true)
		group.Wait()
		if out, room, waiting := s.Use(); out != 0 || room != fewStarts || waiting != 0 {
			t.Errorf("%d start of %d and %d wait after slow ones, want 0 of %d", out, room, waiting, fewStarts)
		}
	})
}

// Who does not wait any longer takes nobody's turn.
func TestStartsThatAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Starts
		var turns []func(bool)
		for range fewStarts {
			done, err := s.Acquire(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			turns = append(turns, done)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Acquire(ctx, ""); err != context.DeadlineExceeded {
			t.Errorf("error %v, want that of the context", err)
		}
		got := make(chan func(bool), 1)
		go func() {
			done, err := s.Acquire(t.Context(), "")
			if err != nil {
				t.Error(err)
			}
			got <- done
		}()
		synctest.Wait()
		turns[0](true)
		(<-got)(true)
		for _, done := range turns {
			done(true)
		}
		if out, _, waiting := s.Use(); out != 0 || waiting != 0 {
			t.Errorf("%d start, %d wait", out, waiting)
		}
	})
}

// Half is left for others, however long a principal's cells take, and whoever came first.
func TestStartsOfOnePrincipalLeaveRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Starts
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 3 * fewStarts {
			group.Go(func() {
				if done, err := s.Acquire(ctx, "slow"); err == nil {
					defer done(true)
					<-ctx.Done()
				}
			})
		}
		synctest.Wait()
		if out, _, waiting := s.Use(); out != fewStarts/2 || waiting != 3*fewStarts-out {
			t.Errorf("%d start, %d wait, want half of %d", out, waiting, fewStarts)
		}
		for range 10 * fewStarts {
			done, err := s.Acquire(ctx, "quick")
			if err != nil {
				t.Fatal(err)
			}
			done(true)
		}
		cancel()
		group.Wait()
		if out, _, waiting := s.Use(); out != 0 || waiting != 0 || len(s.own) != 0 {
			t.Errorf("%d start, %d wait, of %d principals", out, waiting, len(s.own))
		}
	})
}
