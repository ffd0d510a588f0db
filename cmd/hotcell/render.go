package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"

	"github.com/charmbracelet/lipgloss"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/host"
)

// How much of what a skill says is shown to people, in bytes. All of it is in --json.
const (
	maxLogText  = 4 << 10
	maxLineText = 500
)

// view shows the events of one call to people. It is an [a2e.EventWriter]; lost is called once when its screen has
// gone.
type view struct {
	screen    *screen
	still     bool // no bar, also on a terminal that could have one
	brief     bool // no log events of level debug
	artifacts *artifacts
	errors    *recent // nil: nobody asks
	lost      func(error)
}

// WriteEvent implements [a2e.EventWriter].
func (v *view) WriteEvent(_ context.Context, ev *a2e.Event) error {
	switch ev.Kind {
	case a2e.KindProgress:
		v.progress(ev.Data)
	case a2e.KindArtifact:
		v.artifacts.add(ev.Data) // listed at the end
	case a2e.KindLog:
		v.log(ev.Data)
	default:
		v.say(v.screen.style.bold, "status", text(ev.Data))
	}
	err := v.screen.failed()
	if errors.Is(err, syscall.EPIPE) { // a stderr that is closed from the start is no reason to stop
		v.lost(err)
		return err
	}
	return nil
}

func (v *view) progress(data map[string]any) {
	pct, message := percent(data["pct"]), oneLine(str(data["message"]), maxLineText)
	if v.screen.live && !v.still {
		v.screen.progress(pct, message)
		return
	}
	v.say(v.screen.style.dim, fmt.Sprintf("%d%%", pct), message)
}

func (v *view) log(data map[string]any) {
	level, style := oneLine(str(data["level"]), 10), v.screen.style.dim
	switch strings.ToLower(level) {
	case "error", "critical", "fatal":
		style = v.screen.style.bad
		if v.errors != nil {
			v.errors.add(text(data))
		}
	case "warn", "warning":
		style = v.screen.style.warn
	case "debug", "trace":
		if v.brief {
			return
		}
	case "":
		level = "log"
	}
	v.say(style, level, text(data))
}

// say writes what a skill said. Every line is indented and the first one labelled, so that no skill can pass its words
// off as hotcell's own.
func (v *view) say(style lipgloss.Style, label, words string) {
	lines := strings.Split(words, "\n")
	for i, line := range lines {
		if i > 0 {
			label = ""
		}
		lines[i] = strings.TrimRight(fmt.Sprintf("  %-8s %s", label, line), " ")
	}
	v.screen.line(paint(style, strings.Join(lines, "\n")))
}

// text is an event's message, or all of its data where it has none.
func text(data map[string]any) string {
	if message, ok := data["message"].(string); ok {
		return block(message, maxLogText)
	}
	if len(data) == 0 {
		return ""
	}
	return block(safeJSON(compact(data)), maxLogText)
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// percent reads a percentage that a skill gave, whatever its type.
func percent(v any) int {
	f := 0.0
	switch v := v.(type) {
	case float64:
		f = v
	case int:
		f = float64(v)
	case int64:
		f = float64(v)
	case json.Number:
		f, _ = v.Float64()
	}
	if math.IsNaN(f) {
		return 0
	}
	return int(min(max(f, 0), 100))
}

// plural is the word for n things.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// size is a number of bytes for people: "312 B", "1.2 KiB".
func size(n int64) string { return host.SizeText(n) }

// took is a duration for people: "840 ms", "1.24 s".
func took(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.2f s", float64(ms)/1000)
}
