package relay

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/wall"
)

// redaction takes the secrets of one call out of what its cell says. It guards against accidents: a skill that wants to
// give a secret away can always write it in a way that nobody recognises.
//
// A nil redaction leaves everything as it is.
type redaction struct {
	m     *matcher
	lines map[string][]open // by level: what the last log message has begun
	tails map[string]tail   // by name: the end of an artifact's last chunk, where that has begun something
}

type tail struct {
	mime  string
	bytes []byte
}

// newRedaction returns nil where there is nothing to take out. Values of fewer than 8 bytes are not looked for.
func newRedaction(values [][]byte) *redaction {
	if len(values) == 0 {
		return nil // a matcher is some KiB, and most calls need none
	}
	m := newMatcher(values)
	if m == nil {
		return nil
	}
	return &redaction{m: m, lines: map[string][]open{}, tails: map[string]tail{}}
}

// Redacted returns a part of what a cell said past its relay, without the secrets.
func Redacted(secrets [][]byte, text string) string { return newRedaction(secrets).cut(text) }

// text takes them out of a text that nothing goes on with.
func (r *redaction) text(s string) string {
	if r == nil || s == "" {
		return s
	}
	found, _ := r.m.scan([]byte(s), nil)
	if len(found) == 0 {
		return s
	}
	return string(without([]byte(s), found))
}

// head takes them out of a text that may lack its end.
func (r *redaction) head(s string) string {
	if r == nil || s == "" {
		return s
	}
	out, _ := r.m.piece([]byte(s), nil)
	return string(out)
}

// cut takes them out of a text that lacks a beginning and perhaps an end. It is slow: a hostile cell must not have it called
// often.
func (r *redaction) cut(s string) string {
	if r == nil || s == "" {
		return s
	}
	return string(r.m.cut([]byte(s)))
}

// json takes them out of a JSON text.
func (r *redaction) json(raw json.RawMessage) json.RawMessage {
	if r == nil || len(raw) == 0 {
		return raw
	}
	return r.m.json(raw)
}

func (r *redaction) result(res *wall.Result) {
	if r == nil {
		return
	}
	res.Error, res.ErrorCode = r.text(res.Error), r.text(res.ErrorCode)
	res.Data, res.Summary = r.json(res.Data), r.json(res.Summary)
}

func (r *redaction) exit(x *wall.Exit) {
	if r == nil {
		return
	}
	x.StartError, x.StderrTail, x.OutputOver = r.cut(x.StartError), r.cut(x.StderrTail), r.text(x.OutputOver)
}

// event takes them out of an event of one of the four kinds. A secret may lie in several chunks of an artifact, or in
// several log messages of a level.
func (r *redaction) event(e *event) {
	if r == nil {
		return
	}
	data := make(map[string]any, len(e.data))
	for key, value := range e.data {
		text, _ := value.(string)
		switch {
		case e.kind == a2e.KindArtifact && key == "chunk":
			data[key] = r.chunk(e, text)
		case e.kind == a2e.KindLog && key == "message":
			data[key] = r.line(e, text)
		default:
			data[r.text(key)] = r.value(value)
		}
	}
	e.data = data
}

func (r *redaction) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case json.RawMessage:
		return r.json(v)
	case json.Number:
		if r.text(string(v)) != string(v) {
			return redacted
		}
	}
	return v
}

// line takes them out of a log message, which may go on with what the one before had begun.
func (r *redaction) line(e *event, text string) string {
	level, _ := e.data["level"].(string)
	out, begun := r.m.piece([]byte(text), r.lines[level])
	r.lines[level] = begun
	if len(begun) == 0 {
		delete(r.lines, level)
	}
	return string(out)
}

// chunk takes them out of an artifact's chunk. Where its end has begun something, that end waits for the next one.
func (r *redaction) chunk(e *event, chunk string) string {
	name, _ := e.data["name"].(string)
	mime, _ := e.data["mime"].(string)
	final, _ := e.data["final"].(bool)
	text, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, strings.NewReader(chunk)))
	if err != nil {
		return "" // it was checked before
	}
	before := r.tails[name].bytes
	delete(r.tails, name)
	text = append(before, text...)
	found, begun := r.m.scan(text, nil)
	if from := r.wait(len(text), begun, found); from < len(text) && !final {
		r.tails[name] = tail{mime, bytes.Clone(text[from:])} // and not what it lies in
		text = text[:from]
	}
	if len(found) == 0 && len(before) == 0 && r.tails[name].bytes == nil {
		return chunk
	}
	return base64.StdEncoding.EncodeToString(without(text, found))
}

// wait returns from where on a text must wait. What is complete never does: a value that has begun within it is taken for
// a part of it.
func (r *redaction) wait(size int, begun []open, found []span) int {
	from := size
	for _, o := range begun {
		from = min(from, o.from)
	}
	if n := len(found); n > 0 {
		from = max(from, found[n-1].to)
	}
	return from
}

// left returns the ends of artifacts that still wait when nothing more comes.
func (r *redaction) left() (events []event) {
	if r == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.tails)) {
		t := r.tails[name]
		text, _ := r.m.piece(t.bytes, nil)
		events = append(events, event{kind: a2e.KindArtifact, data: map[string]any{
			"name": r.text(name), "mime": r.text(t.mime), "chunk": base64.StdEncoding.EncodeToString(text), "final": false,
		}})
	}
	clear(r.tails)
	return events
}
