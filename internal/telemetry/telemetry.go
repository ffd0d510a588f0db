package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/trace"
)

// Bounds on one request to a collector.
const (
	requestLimit = 5 * time.Second
	mostAnswer   = 64 << 10 // bytes
)

// Options say where traces go. With no endpoint here the OTEL_ variables of the environment decide, and without those there are
// no traces.
type Options struct {
	Endpoint string                 // a collector's URL; /v1/traces is added where it has no path
	Headers  map[string]auth.Secret // of requests to it
	Sample   float64                // the share of traces that begin here and are kept, from 0 to 1

	Version  string // of hotcell
	Instance string // this process's name
	Getenv   func(string) string
	Log      *slog.Logger

	flush time.Duration // for all that is left at the end; 0: flushLimit
}

// Telemetry exports traces. The zero value has none. Its owner closes it.
type Telemetry struct {
	provider *sdktrace.TracerProvider
	web      *http.Client // nil: the exporter's own
}

// Open starts to export, if anybody wants that. No collector is asked yet: whether it is there matters to nobody else.
func Open(ctx context.Context, o Options) (*Telemetry, error) {
	why, on := o.wanted()
	if why != "" {
		o.Log.Warn("no traces are exported", "reason", why)
	}
	if !on {
		return &Telemetry{}, nil
	}
	o.hear()
	t := &Telemetry{}
	out, err := otlptrace.New(ctx, otlptracehttp.NewClient(t.client(o)...))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "hotcell"), attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Instance)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && about == nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	options := []sdktrace.TracerProviderOption{
		sdktrace.WithSpanProcessor(newQueue(out, o.Log, o.values(), cmp.Or(o.flush, flushLimit))), sdktrace.WithResource(about),
	}
	if o.Endpoint != "" || o.env("OTEL_TRACES_SAMPLER") == "" {
		options = append(options, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Sample))))
	}
	t.provider = sdktrace.NewTracerProvider(options...)
	return t, nil
}

// Tracer keeps spans; nil where there are no traces.
func (t *Telemetry) Tracer() trace.Tracer {
	if t.provider == nil {
		return nil
	}
	return &tracer{t.provider.Tracer("hotcell")}
}

// Close exports what is left, within a few seconds.
func (t *Telemetry) Close(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*flushLimit)
	defer cancel()
	err := t.provider.Shutdown(ctx)
	if t.web != nil {
		t.web.CloseIdleConnections()
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil // what was lost is in the log
	}
	return err
}

func (o Options) env(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

// wanted reports whether there are to be traces; why is what stands against it, where somebody seems to want them.
func (o Options) wanted() (why string, on bool) {
	if o.Endpoint != "" {
		return "", true
	}
	endpoint := cmp.Or(o.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), o.env("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if endpoint == "" || strings.EqualFold(o.env("OTEL_SDK_DISABLED"), "true") {
		return "", false
	}
	protocol := cmp.Or(o.env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), o.env("OTEL_EXPORTER_OTLP_PROTOCOL"))
	switch exporter := o.env("OTEL_TRACES_EXPORTER"); {
	case exporter == "none":
		return "", false
	case exporter != "" && exporter != "otlp":
		return "OTEL_TRACES_EXPORTER: expected otlp or none", false
	case protocol != "" && !strings.HasPrefix(protocol, "http/"):
		return "OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf, which port 4318 of collectors speaks", false
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "OTEL_EXPORTER_OTLP_ENDPOINT: expected http:// or https:// and a host", false
	}
	return "", true
}

// client is how a collector is spoken to. What the configuration says leaves nothing of it to the environment: headers that
// are meant for one collector reach no other.
func (t *Telemetry) client(o Options) []otlptracehttp.Option {
	options := []otlptracehttp.Option{
		otlptracehttp.WithMaxResponseSize(mostAnswer),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: requestLimit, MaxElapsedTime: exportLimit}),
	}
	if o.Endpoint != "" {
		headers := map[string]string{}
		for name, value := range o.Headers {
			headers[name] = value.Reveal()
		}
		options = append(options, otlptracehttp.WithEndpointURL(tracesAt(o.Endpoint)), otlptracehttp.WithHeaders(headers), otlptracehttp.WithTimeout(requestLimit))
	}
	for _, name := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if o.env("OTEL_EXPORTER_OTLP_"+name) != "" || o.env("OTEL_EXPORTER_OTLP_TRACES_"+name) != "" {
			return options // the exporter reads them
		}
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: requestLimit}
	t.web = &http.Client{
		Transport: transport, Timeout: requestLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // headers go to nobody else
	}
	return append(options, otlptracehttp.WithHTTPClient(t.web))
}

// tracesAt is where a collector at a URL takes traces.
func tracesAt(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || strings.Trim(u.Path, "/") != "" {
		return endpoint
	}
	u.Path = "/v1/traces"
	return u.String()
}

// values are those that no error may repeat.
func (o Options) values() (hide []string) {
	for _, v := range o.Headers {
		if !v.Empty() {
			hide = append(hide, v.Reveal())
		}
	}
	for _, list := range []string{o.env("OTEL_EXPORTER_OTLP_HEADERS"), o.env("OTEL_EXPORTER_OTLP_TRACES_HEADERS")} {
		for pair := range strings.SplitSeq(list, ",") {
			if _, value, ok := strings.Cut(pair, "="); ok && value != "" {
				hide = append(hide, value)
			}
		}
	}
	return hide
}
