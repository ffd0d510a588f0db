package service

import (
	"context"
	"sync"
)

// Outermost is what a call has in common with all calls that are nested in it, at whatever depth. Services keep there what they
// grant to all of them together. It is safe for concurrent use; nil is that of a call which is never made.
type Outermost struct {
	mu   sync.Mutex
	kept map[any]any
}

// Keep returns what is kept under a key, which is made first where it is not there. Keys are of types of the service's own.
func (o *Outermost) Keep(key any, make func() any) any {
	if o == nil {
		return make()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	value, ok := o.kept[key]
	if !ok {
		if o.kept == nil {
			o.kept = map[any]any{}
		}
		value = make()
		o.kept[key] = value
	}
	return value
}

type outermostKey struct{}

// Begin returns a context for a call: that of an outermost one, unless it is nested in one already.
func Begin(ctx context.Context) context.Context {
	if OutermostOf(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, outermostKey{}, &Outermost{})
}

// OutermostOf returns what a context's call has in common with those around it and within it; nil: it has not begun.
func OutermostOf(ctx context.Context) *Outermost {
	o, _ := ctx.Value(outermostKey{}).(*Outermost)
	return o
}
