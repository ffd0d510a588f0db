package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/trace"
)

// BenchmarkCall is what the spans of one call cost who is traced.
func BenchmarkCall(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer server.Close()
	tel, err := Open(b.Context(), Options{Endpoint: server.URL, Sample: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = tel.Close(b.Context()) }()
	tracer := tel.Tracer()
	b.ReportAllocs()
	for b.Loop() {
		call := trace.Root(tracer, a2e.Trace{}, "call", time.Now())
		for _, key := range []string{"hotcell.call.id", "hotcell.skill", "hotcell.principal", "hotcell.door", "hotcell.code"} {
			call.Text(key, "some text of a usual length")
		}
		for _, phase := range []string{"plan", "queue", "prepare", "lease", "run", "answer", "teardown"} {
			call.Begin(phase, time.Now()).End()
		}
		call.End()
	}
}
