package collector

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is what a collector was told of one span.
type Span struct {
	Trace, ID, Parent string // in hexadecimal; Parent is "" for the first of a trace
	State             string // tracestate
	Name, Kind        string
	Start, End        time.Time
	Attributes        map[string]any // string, int64 or bool
	Failed            string         // the message of an error, "" without one
}

// Took is how long it took.
func (s Span) Took() time.Duration { return s.End.Sub(s.Start) }

// Collector keeps what it is sent.
type Collector struct {
	URL string

	mu       sync.Mutex
	came     chan struct{} // closed and replaced with each request
	spans    []Span
	headers  []http.Header
	resource map[string]any
}

// New starts a collector that ends with the test.
func New(t testing.TB) *Collector {
	c := &Collector{came: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("a collector got %s %s, %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
		}
		if err := c.take(r); err != nil {
			t.Errorf("a collector got %v", err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *Collector) take(r *http.Request) error {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = plain
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var req collectorpb.ExportTraceServiceRequest
	if err := proto.Unmarshal(raw, &req); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	for _, rs := range req.ResourceSpans {
		c.resource = attributes(rs.Resource.Attributes)
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.spans = append(c.spans, span(s))
			}
		}
	}
	close(c.came)
	c.came = make(chan struct{})
	return nil
}

func span(s *tracepb.Span) Span {
	out := Span{
		Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId), State: s.TraceState,
		Name: s.Name, Kind: s.Kind.String(), Attributes: attributes(s.Attributes),
		Start: time.Unix(0, int64(s.StartTimeUnixNano)), End: time.Unix(0, int64(s.EndTimeUnixNano)),
	}
	if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		out.Failed = s.Status.Message
	}
	return out
}

func attributes(list []*commonpb.KeyValue) map[string]any {
	out := map[string]any{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			out[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			out[kv.Key] = v.IntValue
		case *commonpb.AnyValue_BoolValue:
			out[kv.Key] = v.BoolValue
		}
	}
	return out
}

// Spans are those that came so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Headers are those of the requests.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

// Resource is what the last request said about its sender.
func (c *Collector) Resource() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resource
}

// Await waits until the spans satisfy a condition, and returns them.
func (c *Collector) Await(t testing.TB, enough func([]Span) bool) []Span {
	t.Helper()
	late := time.After(time.Minute)
	for {
		c.mu.Lock()
		came := c.came
		c.mu.Unlock()
		if spans := c.Spans(); enough(spans) {
			return spans
		}
		select {
		case <-came:
		case <-late:
			t.Fatalf("not all spans came: %+v", c.Spans())
		}
	}
}
