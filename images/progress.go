package images

import "context"

// Progress is how far a pull is.
type Progress struct {
	Ref         string
	Step        string // "downloading", "extracting", "verifying" or in the words of who pulls; one line
	Done, Total int64  // bytes; Total is what is known so far, 0: nothing
}

type listenerKey struct{}

// WithProgress returns a context whose [Store.Resolve] tells listen how a pull goes that it waits for. listen must return at
// once; it is not called after Resolve has returned, and never by two goroutines at a time.
func WithProgress(ctx context.Context, listen func(Progress)) context.Context {
	return context.WithValue(ctx, listenerKey{}, listen)
}

type waitKey struct{}

// WithWait returns a context whose [Store.Resolve] calls wait before it asks anybody for what it does not know: that may take long, and
// nothing is heard of it. wait must return at once.
func WithWait(ctx context.Context, wait func()) context.Context {
	return context.WithValue(ctx, waitKey{}, wait)
}

// Waits is for a [Store] that is about to ask. See [WithWait].
func Waits(ctx context.Context) {
	if wait, ok := ctx.Value(waitKey{}).(func()); ok {
		wait()
	}
}

type laterKey struct{}

// WithLater returns a context whose [Store.Resolve] calls hand over what they would begin in the background, for whoever asks to begin it
// when it has done what hurries. later must return at once.
func WithLater(ctx context.Context, later func(begin func())) context.Context {
	return context.WithValue(ctx, laterKey{}, later)
}

// Later is for a [Store] that has something to do in the background: begin must return at once. See [WithLater].
func Later(ctx context.Context, begin func()) {
	if later, ok := ctx.Value(laterKey{}).(func(func())); ok {
		later(begin)
		return
	}
	begin()
}

func listenerOf(ctx context.Context) func(Progress) {
	listen, _ := ctx.Value(listenerKey{}).(func(Progress))
	return listen
}
