package host

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/telemetry"
)

// openTelemetry exports traces, where the configuration or the environment wants that.
func openTelemetry(ctx context.Context, cfg *config.Config, version, instance string, log *slog.Logger) (*telemetry.Telemetry, error) {
	to := cfg.Telemetry.OTLP
	headers := make(map[string]auth.Secret, len(to.Headers))
	refs := References(cfg)
	for _, name := range slices.Sorted(maps.Keys(to.Headers)) {
		value, err := refs.Resolve(to.Headers[name])
		if err != nil {
			return nil, &ConfigError{fmt.Errorf("telemetry.otlp.headers.%s: %w", name, err)}
		}
		headers[name] = auth.NewSecret(string(value))
	}
	return telemetry.Open(ctx, telemetry.Options{
		Endpoint: to.Endpoint, Headers: headers, Sample: to.Sample, Version: version, Instance: instance, Getenv: os.Getenv, Log: log,
	})
}
