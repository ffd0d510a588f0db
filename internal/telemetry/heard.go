package telemetry

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// hear has the libraries behind the exporter speak through the log. By themselves they write to stderr, in a form of their own,
// and with a variable that they can't read they print its value: a header's is a secret.
func (o Options) hear() {
	tell := func(reason string) {
		o.Log.Warn("a variable of OpenTelemetry is not heeded", "reason", fmt.Sprintf("%.200s", reason))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { tell(err.Error()) }))
	otel.SetLogger(logr.FromSlogHandler(faults{tell}))
}

// faults passes on what went wrong, without the values that stand beside it.
type faults struct{ tell func(reason string) }

func (faults) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

func (f faults) Handle(_ context.Context, r slog.Record) error {
	f.tell("could not " + r.Message)
	return nil
}

func (f faults) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f faults) WithGroup(string) slog.Handler { return f }
