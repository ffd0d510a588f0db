package auth

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestShares(t *testing.T) {
	s := NewShares(10, 6)
	take := func(principal string, n int64, want bool) func() {
		t.Helper()
		give, ok := s.Take(principal, n)
		if ok != want {
			t.Errorf("%q took %d: %t", principal, n, ok)
		}
		return give
	}
	first := take("a", 6, true)
	take("a", 1, false)
	take("b", 5, false)
	second := take("b", 4, true)
	take("c", 1, false)
	first()
	first() // does nothing
	take("a", 7, false)
	third := take("", 6, true)
	take("", 1, false)
	third()
	second()
	take("", 10, true)()
	if s.all != 0 || len(s.held) != 0 {
		t.Errorf("%d are held in the end, by %d", s.all, len(s.held))
	}
}

func TestWaitingForShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewShares(2, 1)
		first, _ := s.Take("a", 1)
		time.AfterFunc(time.Minute, first)
		began := time.Now()
		second, ok := s.Wait(t.Context(), "a", 1)
		if !ok || time.Since(began) != time.Minute {
			t.Errorf("%t after %v", ok, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, ok := s.Wait(ctx, "a", 1); ok {
			t.Error("two were taken")
		}
		if give, ok := s.Wait(ctx, "b", 1); !ok {
			t.Error("another waits too")
		} else {
			give()
		}
		second()
		if s.all != 0 {
			t.Errorf("%d are held in the end", s.all)
		}
	})
}
