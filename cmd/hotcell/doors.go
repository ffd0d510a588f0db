package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hotcell/hotcell/executor"
)

// drainLimit bounds how long calls in flight may go on when a host is asked to stop.
const drainLimit = 60 * time.Second

// door serves until its context ends.
type door func(ctx context.Context) error

// serveDoors opens the doors until ctx ends or one of them closes. Then the supervisor is drained while they stay open,
// so that answers get out and new calls are told why they are refused; then they are closed. What is left behind by dead
// supervisors is removed beside, from the moment the doors open.
func serveDoors(ctx context.Context, s supervisor, log *slog.Logger, doors ...door) error {
	open, closeAll := context.WithCancel(context.WithoutCancel(ctx))
	defer closeAll()
	ended := make(chan error, len(doors))
	var group sync.WaitGroup
	for _, serve := range doors {
		group.Go(func() { ended <- serve(open) })
	}
	tend, enough := context.WithCancel(ctx)
	defer enough()
	group.Go(func() { s.Tend(tend) })
	var first error
	select {
	case first = <-ended:
	case <-ctx.Done():
		log.Info("stopping: calls in flight may end, a second signal kills them", "within", drainLimit)
	}
	enough()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
	defer cancel()
	switch err := s.Drain(drain); {
	case errors.Is(err, executor.ErrUnjournalled):
		first = errors.Join(first, err)
	case err != nil:
		first = errors.Join(first, fmt.Errorf("calls did not end within %s and were killed", drainLimit))
	}
	closeAll()
	group.Wait()
	close(ended)
	errs := []error{first}
	for err := range ended {
		if !errors.Is(err, context.Canceled) { // which is how we close them
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// killedBy is the end of a host that had to be told twice.
func killedBy(signals int, err error) error {
	if signals > 1 {
		return silent(exitInterrupted)
	}
	return err
}
