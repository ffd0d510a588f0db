package main

import (
	"context"
	"sync"
)

// watched keeps the skills up to date until stop is called. Calls in flight keep what they started with.
func (s *system) watched(ctx context.Context) (stop func()) {
	if s.watch == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { s.watch(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}
