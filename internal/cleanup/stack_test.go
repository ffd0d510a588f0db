package cleanup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRunUndoesInReverseAndGoesOnAfterErrors(t *testing.T) {
	var s Stack
	var got []string
	boom := errors.New("boom")
	for _, name := range []string{"one", "two", "three"} {
		s.Add(name, func(context.Context) error {
			got = append(got, name)
			if name == "two" {
				return boom
			}
			return nil
		})
	}
	err := s.Run(context.Background(), time.Second)
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "two: boom") {
		t.Errorf("error = %v, want it to wrap and name the failing step", err)
	}
	if want := "three two one"; strings.Join(got, " ") != want {
		t.Errorf("order = %v, want %s", got, want)
	}
	if err := s.Run(context.Background(), time.Second); err != nil || len(got) != 3 {
		t.Errorf("a second Run did something: %v, %v", err, got)
	}
}

func TestRunIsDetachedAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		var s Stack
		s.Add("slow", func(ctx context.Context) error {
			if ctx.Err() != nil {
				t.Error("the step saw the caller's cancellation")
			}
			<-ctx.Done()
			return ctx.Err()
		})
		start := time.Now()
		if err := s.Run(ctx, 3*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the deadline", err)
		}
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("took %v, want 3s", d)
		}
	})
}

func TestReleaseHandsOver(t *testing.T) {
	var s Stack
	n := 0
	s.Add("x", func(context.Context) error { n++; return nil })
	step := s.Release()
	if err := s.Run(context.Background(), time.Second); err != nil || n != 0 {
		t.Fatalf("released steps ran: %v %d", err, n)
	}
	if err := step(context.Background()); err != nil || n != 1 {
		t.Fatalf("handed-over step: %v %d", err, n)
	}
}
