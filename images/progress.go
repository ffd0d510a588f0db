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

func listenerOf(ctx context.Context) func(Progress) {
	listen, _ := ctx.Value(listenerKey{}).(func(Progress))
	return listen
}
