package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// How many calls a journal holds, and how many skills are registered, when a call's cost is measured.
var (
	histories = []int{10, 100, 1_000, 10_000}
	skillSets = []int{1, 10, 100, 500}
)

func historyRow(n int) string { return fmt.Sprintf("fake cells, %d calls in the journal", n) }
func skillsRow(n int) string  { return fmt.Sprintf("fake cells, %d skills", n) }

// growthSection measures what a call costs with more and more behind it. Cells are the fake driver's, in this process, so
// that nothing hides hotcell's own share; supervisor and journal are real. A journal grows while it is measured, by one
// call a round, so there are few rounds of these.
func growthSection(ctx context.Context, b *bench) error {
	supers := map[string]*unreal{}
	defer func() {
		for _, u := range supers {
			_ = u.close()
		}
	}()
	grown := func(name string, skills, history int) contender {
		return contender{name, func(ctx context.Context) (timing, error) {
			if supers[name] == nil {
				u, err := b.grown(ctx, skills, history)
				if err != nil {
					return timing{}, err
				}
				supers[name] = u
			}
			t, err := supers[name].call(ctx, skills-1)
			return t, errors.Join(err, rest(ctx, time.Millisecond)) // its journal comes to rest
		}}
	}
	var longer, wider []contender
	for _, n := range histories {
		longer = append(longer, grown(historyRow(n), 1, n))
	}
	for _, n := range skillSets {
		wider = append(wider, grown(skillsRow(n), n, 0))
	}
	return errors.Join(b.race(ctx, "growth", b.rounds, longer), b.race(ctx, "growth", 5*b.rounds, wider))
}

// grown is a supervisor with so many skills that has served so many calls.
func (b *bench) grown(ctx context.Context, skills, history int) (*unreal, error) {
	dir, err := b.yard.folder()
	if err != nil {
		return nil, err
	}
	u, err := fakeSupervisor(dir, skills, speaker)
	if err != nil || history == 0 {
		return u, err
	}
	return u, together(ctx, 8, history, func(ctx context.Context) error {
		_, err := u.call(ctx, 0)
		return err
	})
}
