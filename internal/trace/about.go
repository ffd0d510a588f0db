package trace

import (
	"context"
	"log/slog"
)

// About is the call that something is about, for the lines of a log.
type About struct{ Call, Principal, Skill, Trace string }

// Attrs returns it for a logger, without what is not known.
func (a About) Attrs() []slog.Attr {
	attrs := make([]slog.Attr, 0, 4)
	for _, one := range []struct{ key, value string }{{"call", a.Call}, {"principal", a.Principal}, {"skill", a.Skill}, {"trace_id", a.Trace}} {
		if one.value != "" {
			attrs = append(attrs, slog.String(one.key, one.value))
		}
	}
	return attrs
}

type aboutKey struct{}

// WithAbout returns a context for what is about a call.
func WithAbout(ctx context.Context, a *About) context.Context {
	return context.WithValue(ctx, aboutKey{}, a)
}

// AboutOf returns the call that ctx is about, nil where it is about none.
func AboutOf(ctx context.Context) *About {
	a, _ := ctx.Value(aboutKey{}).(*About)
	return a
}
