package telemetry

import (
	"context"
	"encoding"
	"fmt"
	"io"
	"log/slog"

	"github.com/hotcell/hotcell/internal/trace"
)

// The forms of a log.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// NewLogger makes a logger that writes one line for each record, in a format, from a level on. Lines that come with a context
// about a call say which.
func NewLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: plain}
	if format == FormatJSON {
		return slog.New(about{slog.NewJSONHandler(w, o)})
	}
	return slog.New(about{slog.NewTextHandler(w, o)})
}

// ParseLevel reads debug, info, warn or error.
func ParseLevel(s string) (slog.Level, error) {
	var l slog.Level
	err := l.UnmarshalText([]byte(s))
	return l, err
}

// plain writes what has no form of its own in a log as fmt does, in JSON too: fmt asks each type how it is printed, and those
// that hold secrets say [redacted], wherever they stand. Their JSON may be meant for somebody who must read it.
func plain(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindAny:
	case slog.KindDuration:
		a.Value = slog.StringValue(a.Value.Duration().String())
		return a
	default:
		return a
	}
	switch v := a.Value.Any().(type) {
	case error, []string, *slog.Source, slog.Level, nil:
	case fmt.Stringer:
		a.Value = slog.StringValue(fmt.Sprint(v))
	case encoding.TextMarshaler:
	default:
		a.Value = slog.StringValue(fmt.Sprintf("%+v", v))
	}
	return a
}

// about is a handler that says which call a line is about, where its context knows.
type about struct{ slog.Handler }

func (h about) Handle(ctx context.Context, r slog.Record) error {
	if a := trace.AboutOf(ctx); a != nil {
		r = r.Clone()
		r.AddAttrs(a.Attrs()...)
	}
	return h.Handler.Handle(ctx, r)
}

func (h about) WithAttrs(attrs []slog.Attr) slog.Handler { return about{h.Handler.WithAttrs(attrs)} }

func (h about) WithGroup(name string) slog.Handler { return about{h.Handler.WithGroup(name)} }
