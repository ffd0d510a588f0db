package engine

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/wall"
)

// MaxText bounds the texts of an event, in bytes: a line has 1 MiB, escaped.
const MaxText = 64 << 10

// Voice writes the lines of a skill's process. It is safe for concurrent use. Once there was a result it is silent.
type Voice struct {
	mu    sync.Mutex
	w     io.Writer
	ended bool
}

// NewVoice returns a voice that writes to w, the process's standard output.
func NewVoice(w io.Writer) *Voice { return &Voice{w: w} }

// Progress reports how far the skill is, in percent.
func (v *Voice) Progress(pct float64, message string) {
	v.Event("progress", map[string]any{"pct": pct, "message": Clip(message, MaxText)})
}

// Status reports what the skill does. data may be nil.
func (v *Voice) Status(message string, data map[string]any) {
	all := map[string]any{"message": Clip(message, MaxText)}
	for key, value := range data {
		if key != "message" {
			all[key] = value
		}
	}
	v.Event("status", all)
}

// Log writes a log event; levels are debug, info, warning and error.
func (v *Voice) Log(level, message string) {
	v.Event("log", map[string]any{"level": level, "message": Clip(message, MaxText)})
}

// Artifact hands out a file in pieces.
func (v *Voice) Artifact(name, mime string, data []byte) {
	for first := true; first || len(data) > 0; first = false {
		n := min(len(data), wall.FileChunk)
		v.Event("artifact", map[string]any{"name": name, "mime": mime, "chunk": data[:n], "final": n == len(data)})
		data = data[n:]
	}
}

// Event writes one event. What is no JSON, or longer than a line may be, becomes a log event that says so.
func (v *Voice) Event(kind string, data map[string]any) {
	raw, err := Marshal(data)
	why := "it is no JSON"
	if err == nil && len(raw) > wall.MaxLine-1024 {
		why = "it is longer than 1 MiB"
	} else if err == nil {
		v.line(wall.Event{Type: wall.TypeEvent, Kind: kind, Data: raw}, false)
		return
	}
	raw, _ = Marshal(map[string]any{"level": "warning", "message": "an event of kind " + kind + " was left out: " + why})
	v.line(wall.Event{Type: wall.TypeEvent, Kind: "log", Data: raw}, false)
}

// Result ends the skill well. summary may be "".
func (v *Voice) Result(data json.RawMessage, summary string, truncated bool) {
	yes := true
	r := wall.Result{Type: wall.TypeResult, Success: &yes, Data: data, Truncated: truncated}
	if summary != "" {
		r.Summary, _ = Marshal(summary)
	}
	v.line(r, true)
}

// Fail ends the skill with a failure.
func (v *Voice) Fail(f *Failure) {
	no := false
	r := wall.Result{Type: wall.TypeResult, Success: &no, Error: Clip(f.Message, MaxText), ErrorCode: f.Code}
	if f.Final {
		r.Retryable = &no
	}
	v.line(r, true)
}

func (v *Voice) line(value any, last bool) {
	b, err := Marshal(value)
	switch {
	case err != nil && last: // data that is no JSON after all
		no := false
		b, _ = Marshal(wall.Result{Type: wall.TypeResult, Success: &no, Error: "the result is no JSON: " + OneLine(err.Error(), 300), ErrorCode: CodeInternal})
	case err != nil:
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended {
		return
	}
	v.ended = last
	_, _ = v.w.Write(append(b, '\n')) // without a reader there is nobody to tell
}

// MaxDepth is how deep the data of a result may nest: its line is one level more.
const MaxDepth = wall.MaxDepth - 1

// TooDeep reports whether the data of a result nests deeper than [MaxDepth].
func TooDeep(data json.RawMessage) bool {
	return wall.TooDeep(slices.Concat([]byte("["), data, []byte("]")))
}

// Marshal is JSON without the escapes that HTML needs.
func Marshal(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Clip cuts a text to at most so many bytes of whole characters, and marks where.
func Clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	const mark = "..."
	end := max(0, most-len(mark))
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

// OneLine is a text on one line of at most so many bytes.
func OneLine(s string, most int) string { return Clip(strings.Join(strings.Fields(s), " "), most) }
