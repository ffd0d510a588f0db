package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// timing is one run of a contender: to its first output, to its result, and until nothing of it was left. A zero was not
// measured.
type timing struct{ first, done, gone time.Duration }

// contender is one way to do a piece of work.
type contender struct {
	name string
	run  func(ctx context.Context) (timing, error)
}

// limit bounds one run of one contender.
const limit = time.Minute

// absent is why something cannot be measured on this machine.
type absent struct{ why string }

func (a absent) Error() string { return a.why }

// race runs the contenders in turn, one warm-up round and then the counted ones, so that a machine whose speed drifts is as
// unfair to one as to another. A contender that fails, or cannot run here, is left out from then on.
func (b *bench) race(ctx context.Context, section string, rounds int, all []contender) error {
	var running []contender
	for _, c := range all {
		if b.wants(section, c.name) {
			running = append(running, c)
		}
	}
	samples := map[string][]timing{}
	for round := 0; round <= rounds && len(running) > 0 && ctx.Err() == nil; round++ {
		if rounds < 20 || round%(rounds/10) == 0 {
			b.say("%s, round %d of %d", section, round, rounds)
		}
		still := running[:0:0]
		for _, c := range running {
			t, err := bounded(ctx, c)
			if err != nil && ctx.Err() == nil {
				b.out(section, c.name, round, err)
				delete(samples, c.name)
				continue
			}
			still = append(still, c)
			if round > 0 && err == nil {
				samples[c.name] = append(samples[c.name], t)
			}
		}
		running = still
	}
	for _, c := range running {
		b.report.timed(section, c.name, samples[c.name])
	}
	return ctx.Err()
}

// out notes why a contender takes no part any more.
func (b *bench) out(section, name string, round int, err error) {
	var why absent
	if errors.As(err, &why) {
		b.say("%s: %s is absent: %v", section, name, err)
		b.report.Absent[name] = why.why
		return
	}
	b.say("%s: %s failed in round %d: %v", section, name, round, err)
	b.report.failed = append(b.report.failed, fmt.Errorf("%s, round %d: %w", name, round, err))
}

func bounded(ctx context.Context, c contender) (timing, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.run(ctx)
}

// pause lets what the last contender left come to rest. Whom a timer wakes still has the time slice of who slept, which is long over: the
// runtime would take the processor away from it in the middle of what is measured next. So it asks for a new one.
func pause(ctx context.Context) error {
	defer runtime.Gosched()
	return rest(ctx, 80*time.Millisecond)
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
