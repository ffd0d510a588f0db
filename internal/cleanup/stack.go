package cleanup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Step undoes one thing. It must be idempotent and must honour ctx.
type Step func(ctx context.Context) error

type named struct {
	name string
	step Step
}

// Stack collects undo steps. The zero value is ready; it is safe for concurrent use.
type Stack struct {
	mu    sync.Mutex
	steps []named
}

// Add pushes a step. The name starts its error.
func (s *Stack) Add(name string, step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, named{name, step})
}

// Release forgets all steps and hands them over as one Step, for the owner that takes over.
func (s *Stack) Release() Step {
	s.mu.Lock()
	steps := s.steps
	s.steps = nil
	s.mu.Unlock()
	return func(ctx context.Context) error { return undo(ctx, steps) }
}

// Run undoes all steps in reverse under a context that is detached from ctx's cancellation and bounded by limit. All
// steps run, whatever the others return; a second Run does nothing.
func (s *Stack) Run(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return s.Release()(ctx)
}

func undo(ctx context.Context, steps []named) error {
	var errs []error
	for i := len(steps) - 1; i >= 0; i-- {
		if err := steps[i].step(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", steps[i].name, err))
		}
	}
	return errors.Join(errs...)
}
