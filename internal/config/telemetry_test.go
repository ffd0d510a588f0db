package config

import (
	"strings"
	"testing"
)

// What is wrong with where traces go is said, and never what might be a secret.
func TestTelemetryFaults(t *testing.T) {
	const canary = "Bearer-canary-4711"
	for file, want := range map[string]string{
		`telemetry: {otlp: {endpoint: "collector:4318"}}`:                                                             "expected the URL of a collector",
		`telemetry: {otlp: {endpoint: "http://10.1.2.3:4318"}}`:                                                       "traces could be read on their way",
		`telemetry: {otlp: {endpoint: "https://u:p@c.example"}}`:                                                      "expected the URL of a collector",
		`telemetry: {otlp: {endpoint: "http://127.0.0.1:1", sample: 1.5}}`:                                            "telemetry.otlp.sample: expected a share from 0 to 1",
		`telemetry: {otlp: {endpoint: "http://127.0.0.1:1", sample: lots}}`:                                           "telemetry.otlp.sample: expected a number",
		`telemetry: {otlp: {headers: {Authorization: "env:X"}}}`:                                                      "headers are for an endpoint",
		`telemetry: {otlp: {endpoint: "http://127.0.0.1:1", headers: {Authorization: "` + canary + `"}}}`:             "never the secret itself",
		`telemetry: {otlp: {endpoint: "http://127.0.0.1:1", headers: {"` + strings.Repeat("a", 200) + `": "env:X"}}}`: "telemetry.otlp.headers",
		`log: {format: xml}`:   "log.format: expected text or json",
		`log: {level: chatty}`: "log.level: expected auto, debug, info, warn or error",
	} {
		_, _, err := Load(host{files: map[string]string{"hotcell.yaml": file}}.options())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: got %v, want %q", file, err, want)
		}
	}
	for _, v := range []string{"NaN", "-1", "Inf"} {
		if _, _, err := Load(host{env: map[string]string{"HOTCELL__TELEMETRY__OTLP__SAMPLE": v}}.options()); err == nil {
			t.Errorf("sample %s is taken", v)
		}
	}
	for _, ok := range []string{"http://127.0.0.1:4318", "http://[::1]:4318/v1/traces", "http://localhost", "https://c.example:4318"} {
		c, _, err := Load(host{env: map[string]string{"HOTCELL__TELEMETRY__OTLP__ENDPOINT": ok, "HOTCELL__TELEMETRY__OTLP__HEADERS__X_KEY": "env:KEY"}}.options())
		if err != nil || c.Telemetry.OTLP.Endpoint != ok || len(c.Telemetry.OTLP.Headers) != 1 {
			t.Errorf("%s: got %+v, %v", ok, c, err)
		}
	}
}
