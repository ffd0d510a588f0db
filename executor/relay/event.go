package relay

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
)

// event is what waits to be delivered. Data stays in JSON until then, which costs a tenth of a map's memory.
type event struct {
	kind string
	data json.RawMessage
	at   float64 // when it came, in seconds since the Unix epoch
}

// logEvent is the supervisor's own word about a cell, or a cell's plain text.
func logEvent(level, message string) event {
	data, err := json.Marshal(map[string]string{"level": level, "message": strings.ToValidUTF8(message, "\uFFFD")})
	if err != nil {
		data = []byte(`{"level":"error","message":"unprintable"}`)
	}
	return event{kind: a2e.KindLog, data: data, at: a2e.Now()}
}

// decode returns the data of an event as the object that goes over the wire. Shapes are coerced to S1's four kinds
// (protocols decision 12): an unknown kind becomes a status that holds the original.
func (e event) decode() (kind string, data map[string]any) {
	d := json.NewDecoder(bytes.NewReader(e.data))
	d.UseNumber()
	if err := d.Decode(&data); err != nil || data == nil {
		data = map[string]any{}
	}
	switch e.kind {
	case a2e.KindProgress:
		return coerceProgress(data)
	case a2e.KindLog:
		return a2e.KindLog, coerceLog(data)
	case a2e.KindStatus:
		data["message"] = text(data["message"])
		return a2e.KindStatus, data
	case a2e.KindArtifact:
		return coerceArtifact(data)
	}
	return a2e.KindStatus, map[string]any{"message": e.kind, "kind": e.kind, "data": data}
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

// coerceArtifact insists on a name and on base64; what is no artifact becomes a log.
func coerceArtifact(data map[string]any) (string, map[string]any) {
	name, _ := data["name"].(string)
	chunk, isText := data["chunk"].(string)
	if _, err := base64.StdEncoding.DecodeString(chunk); name == "" || !isText || err != nil {
		return a2e.KindLog, map[string]any{"level": "warn", "message": "an artifact without a name or with a chunk that is not base64 was dropped"}
	}
	mime, _ := data["mime"].(string)
	if mime == "" {
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
