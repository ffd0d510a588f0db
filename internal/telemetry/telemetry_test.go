package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/testutil/collector"
	"github.com/hotcell/hotcell/internal/trace"
)

// logged is what a logger wrote.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func opened(t *testing.T, o Options) (*Telemetry, *logged) {
	t.Helper()
	out := &logged{}
	o.Log = NewLogger(out, FormatJSON, slog.LevelInfo)
	tel, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return tel, out
}

func closed(t *testing.T, tel *Telemetry) {
	t.Helper()
	if err := tel.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func environment(kv ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(kv); i += 2 {
			if kv[i] == name {
				return kv[i+1]
			}
		}
		return ""
	}
}

// Spans arrive with their parents, times and attributes, in the trace of the caller, and the headers with them.
func TestExport(t *testing.T) {
	c := collector.New(t)
	tel, out := opened(t, Options{Endpoint: c.URL, Headers: map[string]auth.Secret{"X-Api-Key": auth.NewSecret("canary")}, Sample: 1, Version: "v9"})
	from := a2e.ParseTrace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=1,b=2")
	began := time.Now().Add(-time.Second)
	call := trace.Root(tel.Tracer(), from, "call", began)
	call.Text("text", strings.Repeat("é", mostText))
	call.Number("number", 7)
	call.Flag("flag", true)
	call.Fail("timeout")
	ctx, tool := trace.Start(trace.With(t.Context(), call), "tool")
	_, nested := trace.Start(ctx, "call")
	nested.End()
	tool.End()
	call.EndAt(began.Add(time.Second))
	place := call.Place()
	closed(t, tel)

	byID := map[string]collector.Span{}
	for _, s := range c.Spans() {
		byID[s.ID] = s
	}
	got := byID[place.Parent[36:52]]
	if got.Trace != "0af7651916cd43dd8448eb211c80319c" || got.Parent != "b7ad6b7169203331" || got.State != "a=1,b=2" || place.State != "a=1,b=2" {
		t.Errorf("got %+v at %+v", got, place)
	}
	if got.Name != "call" || got.Kind != "SPAN_KIND_SERVER" || got.Failed != "timeout" || got.Took() != time.Second || got.Attributes["number"] != int64(7) || got.Attributes["flag"] != true {
		t.Errorf("got %+v", got)
	}
	if text, _ := got.Attributes["text"].(string); len(text) > mostText || !strings.HasPrefix(text, "éé") {
		t.Errorf("a text of %d bytes", len(text))
	}
	for _, s := range byID {
		if s.Name == "tool" && (s.Parent != got.ID || s.Kind != "SPAN_KIND_CLIENT") || s.Parent != got.Parent && byID[s.Parent].Name == "" {
			t.Errorf("got %+v", s)
		}
	}
	if len(byID) != 3 || c.Headers()[0].Get("X-Api-Key") != "canary" || c.Resource()["service.name"] != "hotcell" || c.Resource()["service.version"] != "v9" {
		t.Errorf("%d spans with %v of %v", len(byID), c.Headers(), c.Resource())
	}
	if out.String() != "" {
		t.Errorf("it logs %s", out)
	}
}

// A share of the traces that begin here is kept; of those of callers, what the caller says.
func TestSample(t *testing.T) {
	c := collector.New(t)
	tel, _ := opened(t, Options{Endpoint: c.URL, Sample: 0})
	tracer := tel.Tracer()
	for _, from := range []a2e.Trace{{}, a2e.ParseTrace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "")} {
		lost := trace.Root(tracer, from, "call", time.Now())
		lost.End()
		if lost.ID() == "" || lost.Exemplar() != "" {
			t.Errorf("a trace that is not kept: id %q, exemplar %q", lost.ID(), lost.Exemplar())
		}
	}
	kept := trace.Root(tracer, a2e.ParseTrace("00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-01", ""), "call", time.Now())
	kept.End()
	closed(t, tel)
	if got := c.Spans(); len(got) != 1 || got[0].Trace != kept.ID() || kept.Exemplar() != kept.ID() {
		t.Errorf("got %+v", got)
	}
}

// A cell that does a lot takes no room of others: what it brings about is bounded, and the rest of its call is still told.
func TestOneCallIsBounded(t *testing.T) {
	c := collector.New(t)
	tel, _ := opened(t, Options{Endpoint: c.URL, Sample: 1})
	call := trace.Root(tel.Tracer(), a2e.Trace{}, "call", time.Now())
	for range mostUses + 100 {
		call.Begin("tool", time.Now()).End()
	}
	call.Begin("teardown", time.Now()).End()
	call.End()
	closed(t, tel)
	names := map[string]int{}
	for _, s := range c.Spans() {
		names[s.Name]++
		if s.Name == "call" && s.Attributes["hotcell.spans_dropped"] != int64(100) {
			t.Errorf("got %+v", s)
		}
	}
	if names["tool"] != mostUses || names["teardown"] != 1 || names["call"] != 1 {
		t.Errorf("got %v", names)
	}
}

// Whatever a collector does, nobody waits for it who ends a span; what it did not take is counted and told, without the values of
// headers; and the end comes in time.
func TestBadCollectors(t *testing.T) {
	const canary = "canary-4711"
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"hangs":   func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() },
		"is gone": nil,
		"repeats": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403); _, _ = io.WriteString(w, canary) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"garbage": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write(bytes.Repeat([]byte{0xff}, 1<<20))
		},
		"is busy": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "9999999999")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := "http://" + gone.Addr().String()
			if answer != nil {
				server := httptest.NewServer(answer)
				t.Cleanup(server.Close)
				endpoint = server.URL
			}
			tel, out := opened(t, Options{
				Endpoint: endpoint, Headers: map[string]auth.Secret{"Authorization": auth.NewSecret(canary)}, Sample: 1, flush: 100 * time.Millisecond,
			})
			tracer := tel.Tracer()
			const spans = 3 * queueLen
			for range spans { // would not end if one of them waited: the collector takes none
				trace.Root(tracer, a2e.Trace{}, "call", time.Now()).End()
			}
			closed(t, tel)
			checkTold(t, out.String(), canary, spans)
		})
	}
}

// checkTold adds up what was told of lost spans.
func checkTold(t *testing.T, text, canary string, spans float64) {
	t.Helper()
	if strings.Contains(text, canary) {
		t.Errorf("a header is in the log: %s", text)
	}
	sum := 0.0
	for line := range strings.Lines(text) {
		var entry struct {
			Spans float64 `json:"spans"`
			Error string  `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Error == "" {
			t.Errorf("it logs %s (%v)", line, err)
		}
		sum += entry.Spans
	}
	if sum != spans {
		t.Errorf("%v of %v lost spans were told: %s", sum, spans, text)
	}
}

// Headers of the environment are hidden as they stand there, and as they are sent.
func TestHeadersOfTheEnvironmentAreHidden(t *testing.T) {
	o := Options{Getenv: environment("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20canary%2B1, x-key = canary-2 ,x-none=,x-odd=canary%zz")}
	got, want := o.values(), []string{"Bearer%20canary%2B1", "Bearer canary+1", "canary-2", "canary-2", "canary%zz"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The environment decides where the configuration says nothing, and reaches nobody where it does.
func TestEnvironment(t *testing.T) {
	for name, tt := range map[string]struct {
		env  []string
		on   bool
		told string
	}{
		"nothing":         {nil, false, ""},
		"no endpoint":     {[]string{"OTEL_SERVICE_NAME", "x"}, false, ""},
		"disabled":        {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_SDK_DISABLED", "true"}, false, ""},
		"no exporter":     {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER", "none"}, false, ""},
		"console":         {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER", "console"}, false, "OTEL_TRACES_EXPORTER"},
		"grpc":            {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, false, "http/protobuf"},
		"no URL":          {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:1"}, false, "expected http"},
		"endpoint":        {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"}, true, ""},
		"traces endpoint": {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1/v1/traces", "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < len(tt.env); i += 2 {
				t.Setenv(tt.env[i], tt.env[i+1])
			}
			tel, out := opened(t, Options{Getenv: environment(tt.env...), flush: time.Millisecond})
			defer closed(t, tel)
			if on := tel.Tracer() != nil; on != tt.on || !strings.Contains(out.String(), tt.told) || tt.told == "" && out.String() != "" {
				t.Errorf("traces: %t, told: %s", on, out)
			}
		})
	}
	c := collector.New(t)
	for key, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=canary", "OTEL_SERVICE_NAME": "cells", "OTEL_TRACES_SAMPLER": "always_off",
	} {
		t.Setenv(key, value)
	}
	sampled := a2e.ParseTrace("00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-01", "")
	configured := collector.New(t)
	for want, endpoint := range map[*collector.Collector]string{configured: configured.URL, c: ""} {
		env := environment("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "OTEL_TRACES_SAMPLER", "parentbased_always_off")
		t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
		tel, _ := opened(t, Options{Endpoint: endpoint, Sample: 1, Getenv: env})
		trace.Root(tel.Tracer(), sampled, "call", time.Now()).End()
		trace.Root(tel.Tracer(), a2e.Trace{}, "call", time.Now()).End()
		closed(t, tel)
		wants := map[bool]int{true: 2, false: 1}[endpoint != ""]
		if got := want.Spans(); len(got) != wants || want.Resource()["service.name"] != "cells" {
			t.Errorf("%q: got %+v of %v", endpoint, got, want.Resource())
		}
		if key := want.Headers()[0].Get("X-Key"); (key == "canary") != (endpoint == "") {
			t.Errorf("%q: got the header %q", endpoint, key)
		}
	}
}

// A variable that can't be read is told in the log, in the log's form, and its value is in no line of it.
func TestBadVariables(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS":        "canary-no-sign",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "authorization=canary%zz",
		"OTEL_EXPORTER_OTLP_TIMEOUT":        "soon",
		"OTEL_TRACES_SAMPLER":               "rubbish",
		"OTEL_RESOURCE_ATTRIBUTES":          "junk",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(name, value)
			tel, out := opened(t, Options{Getenv: os.Getenv, flush: time.Millisecond})
			defer closed(t, tel)
			if text := out.String(); !strings.Contains(text, "is not heeded") || strings.Contains(text, "canary") {
				t.Errorf("told: %s", text)
			}
		})
	}
}
