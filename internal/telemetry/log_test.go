package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/trace"
	"github.com/hotcell/hotcell/internal/wall"
)

// What holds a secret prints none, whatever it stands in and however it is logged.
func TestSecretsAreRedactedByType(t *testing.T) {
	const canary = "canary-4711"
	override := a2e.LLMConfig{
		ProviderName: "p", ProviderConfig: map[string]any{"api_key": canary}, ProviderCredentials: map[string]any{"api_key": canary},
	}
	secrets := map[string]any{
		"secret": auth.NewSecret(canary), "credentials": auth.Credentials{Bearer: auth.NewSecret(canary)},
		"override": override, "override pointer": &override, "lease": wall.Lease{Secrets: map[string]string{"A": canary}},
		"lease pointer": &wall.Lease{Secrets: map[string]string{"A": canary}},
		"request":       a2e.CallRequest{LLMOverride: &override}, "request pointer": &a2e.CallRequest{LLMOverride: &override},
		"options": Options{Headers: map[string]auth.Secret{"Authorization": auth.NewSecret(canary)}},
	}
	for _, format := range []string{FormatText, FormatJSON} {
		for name, v := range secrets {
			out := &logged{}
			log := NewLogger(out, format, slog.LevelDebug)
			log.Info("as it is", "v", v)
			log.Info("in a group", slog.Group("g", "v", v))
			log.With("v", v).WithGroup("h").Info("before", "list", []any{v}, "map", map[string]any{"k": v}, "struct", struct{ V any }{v})
			log.Info("in an error", "error", fmt.Errorf("%v: %+v: %#v", v, v, v))
			log.Info("in errors", "error", errors.Join(fmt.Errorf("%s", v), fmt.Errorf("%q", v)))
			if text := out.String(); strings.Contains(text, canary) || strings.Count(text, "\n") != 5 {
				t.Errorf("%s, %s: %s", format, name, text)
			}
		}
	}
}

// Lines that come with a context about a call say which, in both formats; JSON lines are objects.
func TestLinesAboutACall(t *testing.T) {
	ctx := trace.WithAbout(t.Context(), &trace.About{Call: "01C", Principal: "alice", Skill: "greet", Trace: "0af7"})
	out := &logged{}
	log := NewLogger(out, FormatJSON, slog.LevelInfo).With("part", "tools")
	log.DebugContext(ctx, "not this one")
	log.InfoContext(ctx, "used", "tool", "time", "names", []string{"a", "b"}, "took", 90*time.Second)
	log.InfoContext(context.Background(), "nobody's")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var first, second map[string]any
	if len(lines) != 2 || json.Unmarshal([]byte(lines[0]), &first) != nil || json.Unmarshal([]byte(lines[1]), &second) != nil {
		t.Fatalf("got %s", out)
	}
	for key, want := range map[string]string{"call": "01C", "principal": "alice", "skill": "greet", "trace_id": "0af7", "tool": "time", "part": "tools", "level": "INFO", "msg": "used", "took": "1m30s"} {
		if first[key] != want {
			t.Errorf("%s: got %v, want %s", key, first[key], want)
		}
	}
	if names, _ := first["names"].([]any); len(names) != 2 || second["call"] != nil {
		t.Errorf("got %v and %v", first, second)
	}
	text := &logged{}
	NewLogger(text, FormatText, slog.LevelInfo).InfoContext(ctx, "used")
	if !strings.Contains(text.String(), "call=01C principal=alice skill=greet trace_id=0af7") {
		t.Errorf("got %s", text)
	}
}

func TestLevels(t *testing.T) {
	for text, want := range map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError} {
		if got, err := ParseLevel(text); got != want || err != nil {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	if _, err := ParseLevel("loud"); err == nil {
		t.Error("loud is a level")
	}
}
