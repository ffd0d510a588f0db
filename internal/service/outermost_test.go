package service_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotcell/hotcell/internal/service"
)

func TestOutermost(t *testing.T) {
	type key struct{ name string }
	var made atomic.Int64
	keep := func(ctx context.Context, name string) int64 {
		n, _ := service.OutermostOf(ctx).Keep(key{name}, func() any { return made.Add(1) }).(int64)
		return n
	}
	first, second := service.Begin(t.Context()), service.Begin(t.Context())
	inner := service.Begin(service.Nested(first, []string{"a"}))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if keep(first, "x") != keep(inner, "x") {
				t.Error("a nested call has another")
			}
		})
	}
	all.Wait()
	if keep(first, "x") == keep(second, "x") || keep(first, "x") == keep(first, "y") || made.Load() != 3 {
		t.Errorf("%d were made", made.Load())
	}
	one := keep(t.Context(), "x")
	if service.OutermostOf(t.Context()) != nil || one == keep(t.Context(), "x") {
		t.Error("something is kept of no call")
	}
}
