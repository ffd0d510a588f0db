package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/llm"
)

// Telemetry says who is told of what hotcell does.
type Telemetry struct {
	OTLP OTLP
}

// OTLP says where traces go.
type OTLP struct {
	Endpoint string            // URL of a collector; "": the OTEL_ variables of the environment decide
	Headers  map[string]string // of requests to it, references by header
	Insecure bool              // plain http to other hosts than this one
	Sample   float64           // share of the traces that begin here and are kept
}

// LogLevelAuto is the level that each command has by itself.
const LogLevelAuto = "auto"

// Log says what hotcell's own messages look like.
type Log struct {
	Format string // text or json
	Level  string // auto, debug, info, warn or error
}

func (c *Config) telemetryFaults(v *faults) {
	const key = "telemetry.otlp"
	o := c.Telemetry.OTLP
	v.add(key+".endpoint", checkCollector(o))
	if !(o.Sample >= 0 && o.Sample <= 1) {
		v.add(key+".sample", fmt.Sprintf("expected a share from 0 to 1, not %v", o.Sample))
	}
	if len(o.Headers) > maxListed {
		v.add(key+".headers", fmt.Sprintf("%d entries, at most %d are allowed", len(o.Headers), maxListed))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Headers)) {
		if !headerName(name) {
			v.add(key+".headers", "expected names of headers: letters, digits and hyphens")
			continue
		}
		v.add(key+".headers."+name, checkReference(o.Headers[name]))
	}
	v.add("log.format", oneOf(c.Log.Format, []string{"text", "json"}))
	v.add("log.level", oneOf(c.Log.Level, []string{LogLevelAuto, "debug", "info", "warn", "error"}))
}

// checkCollector wants an encrypted way to other hosts, unless the operator says otherwise.
func checkCollector(o OTLP) string {
	if o.Endpoint == "" {
		if len(o.Headers) > 0 {
			return "headers are for an endpoint that stands here: set it"
		}
		return ""
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "expected the URL of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318"
	}
	if u.Scheme == "http" && !o.Insecure && !llm.Loopback(u.Hostname()) {
		return "traces could be read on their way: use https, or set telemetry.otlp.insecure; http is for loopback addresses"
	}
	return ""
}

func headerName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	return s != "" && len(s) <= 128 && strings.Trim(s, letters) == ""
}
