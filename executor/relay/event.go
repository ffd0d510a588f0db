package relay

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/wall"
)

// Bounds of an artifact's words. A name or type that is longer is no file's.
const (
	maxArtifactName = 255
	maxArtifactMime = 127
)

// event is what waits to be delivered: numbered, stamped and of one of S1's four kinds. Nothing in it that a cell chose
// is decoded deeper than its top level: a list of numbers grows twentyfold when it is.
type event struct {
	seq  int
	id   string
	kind string
	at   float64 // when it came, in seconds since the Unix epoch
	data map[string]any
}

// message is the event as it goes over the wire.
func (e event) message(reqID string) *a2e.Event {
	return &a2e.Event{
		Header: a2e.Header{Type: a2e.TypeEvent, ID: e.id, Version: a2e.Version, TS: e.at},
		Kind:   e.kind, ReqID: reqID, Data: e.data, Seq: e.seq,
	}
}

// Shallow decodes the top level of a JSON object. Lists and objects within stay as they are written; they alias raw.
func Shallow(raw []byte) map[string]any { return shallow(wall.Parse(raw)) }

func shallow(object wall.Parsed) map[string]any {
	data := map[string]any{}
	object.Members(func(key string, value []byte) {
		switch value[0] {
		case '{', '[':
			data[key] = json.RawMessage(value)
		case '"':
			data[key] = wall.Text(value)
		case 'n':
			data[key] = nil
		case 't', 'f':
			data[key] = value[0] == 't'
		default:
			data[key] = json.Number(value)
		}
	})
	return data
}

// shaped makes an event of S1's four kinds of what a cell said (protocols decision 12): an unknown kind becomes a status
// that holds the original.
func shaped(kind string, raw json.RawMessage, data wall.Parsed) event {
	e := event{kind: kind}
	switch kind {
	case a2e.KindProgress:
		e.kind, e.data = coerceProgress(shallow(data))
	case a2e.KindLog:
		e.data = coerceLog(shallow(data))
	case a2e.KindStatus:
		e.data = shallow(data)
		e.data["message"] = text(e.data["message"])
	case a2e.KindArtifact:
		e.kind, e.data = coerceArtifact(shallow(data))
	default:
		e.kind, e.data = a2e.KindStatus, map[string]any{"message": kind, "kind": kind, "data": raw}
	}
	return e
}

// logEvent is the supervisor's own word about a cell, or a cell's plain text.
func logEvent(level, message string) event {
	return event{kind: a2e.KindLog, data: map[string]any{"level": level, "message": strings.ToValidUTF8(message, "\uFFFD")}}
}

// size is what an event costs of limits.output: the bytes that a skill chose, without what JSON makes of them. What an
// event of its kind always has is free.
func (e event) size() int64 {
	n := 0
	for key, value := range e.data {
		switch key {
		case "level", "pct":
			continue
		case "message":
		default:
			n += len(key)
		}
		switch v := value.(type) {
		case string:
			n += len(v)
		case json.Number:
			n += len(v)
		case json.RawMessage:
			n += len(v)
		default:
			n += len("false")
		}
	}
	return int64(n)
}

// coerceProgress clamps pct to a whole number from 0 to 100. Without a number it is a status.
func coerceProgress(data map[string]any) (string, map[string]any) {
	data["message"] = text(data["message"])
	n, ok := data["pct"].(json.Number)
	if !ok {
		delete(data, "pct")
		return a2e.KindStatus, data
	}
	f, err := n.Float64() // a number too large for it comes back as an infinity, which clamps
	if err != nil && !math.IsInf(f, 0) {
		f = 0
	}
	data["pct"] = int(math.Max(0, math.Min(100, f)))
	return a2e.KindProgress, data
}

func coerceLog(data map[string]any) map[string]any {
	data["message"] = text(data["message"])
	level, _ := data["level"].(string)
	switch level {
	case "debug", "info", "warn", "error":
	case "warning":
		level = "warn"
	case "critical", "fatal":
		level = "error"
	default:
		level = "info"
	}
	data["level"] = level
	return data
}

// coerceArtifact insists on a name of a file's length and on base64; what is no artifact becomes a log.
func coerceArtifact(data map[string]any) (string, map[string]any) {
	name, _ := data["name"].(string)
	chunk, isText := data["chunk"].(string)
	_, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(chunk))) // checked, not kept
	if name == "" || len(name) > maxArtifactName || !isText || err != nil {
		return a2e.KindLog, map[string]any{
			"level": "warn", "message": "an artifact without a name of at most 255 bytes or with a chunk that is not base64 was dropped",
		}
	}
	mime, _ := data["mime"].(string)
	if mime == "" || len(mime) > maxArtifactMime {
		mime = "application/octet-stream"
	}
	final, _ := data["final"].(bool)
	return a2e.KindArtifact, map[string]any{"name": name, "mime": mime, "chunk": chunk, "final": final}
}

// text makes a message a string, whatever the cell put there.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, _ := json.Marshal(v)
	return string(b)
}
