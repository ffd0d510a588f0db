package host

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/config"
)

// A header of the collector's that can't be read is a fault of the configuration's, which names it.
func TestAHeaderThatIsNotThere(t *testing.T) {
	cfg := config.Default(false, t.TempDir(), "")
	cfg.Telemetry.OTLP.Endpoint = "http://127.0.0.1:1"
	cfg.Telemetry.OTLP.Headers["X-Key"] = "env:HOTCELL_TEST_NO_SUCH_VARIABLE"
	t.Setenv("DOCKER_HOST", "unix:///nowhere.sock")
	_, err := Open(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler)})
	var bad *ConfigError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "telemetry.otlp.headers.X-Key: ") {
		t.Errorf("got %v", err)
	}
}
