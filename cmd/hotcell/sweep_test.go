package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// sweeper is a supervisor whose sweeps take their time.
type sweeper struct {
	fakeSupervisor
	began atomic.Int64 // nanoseconds after the start
	start time.Time
	takes time.Duration
	cut   atomic.Bool
}

func (s *sweeper) Sweep(ctx context.Context) error {
	s.began.Store(int64(time.Since(s.start)))
	select {
	case <-time.After(s.takes):
		return nil
	case <-ctx.Done():
		s.cut.Store(true)
		return ctx.Err()
	}
}

func TestSweepBeside(t *testing.T) {
	for _, tt := range []struct {
		name               string
		work, takes, drain time.Duration
		began, ended       time.Duration
		cut                bool
	}{
		{name: "a short call", work: 100 * time.Millisecond, takes: 50 * time.Millisecond, drain: 200 * time.Millisecond,
			began: 100 * time.Millisecond, ended: 300 * time.Millisecond},
		{name: "a long call", work: time.Minute, takes: 10 * time.Second, began: sweepAfter, ended: time.Minute},
		{name: "a long sweep", work: 100 * time.Millisecond, takes: time.Minute, drain: 200 * time.Millisecond,
			began: 100 * time.Millisecond, ended: 300*time.Millisecond + sweepExtra, cut: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sweeper{takes: tt.takes, start: time.Now()}
				done, end := sweepBeside(t.Context(), s, slog.New(slog.DiscardHandler))
				time.Sleep(tt.work)
				done()
				time.Sleep(tt.drain)
				end()
				if began, ended := time.Duration(s.began.Load()), time.Since(s.start); began != tt.began || ended != tt.ended || s.cut.Load() != tt.cut {
					t.Errorf("began after %v, ended after %v, cut short: %v", began, ended, s.cut.Load())
				}
			})
		})
	}
}
