package runner

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/wall"
)

// envelope is room for what a result line holds beside its data.
const envelope = 128

// plain collects what the skill prints besides frames. Without a result of its own it is the result.
type plain struct {
	limit int // bytes of the result line
	text  []byte
	full  bool // something did not fit
}

// add keeps a line as far as there is room, and reports whether it had room.
func (p *plain) add(line wall.Line) bool {
	room := max(p.limit-envelope-len(p.text), 0)
	b := line.Bytes[:min(len(line.Bytes), room)]
	p.text = append(p.text, b...)
	if line.Cut || len(b) < len(line.Bytes) {
		p.full = true
	}
	if !line.Open && len(b) < room {
		p.text = append(p.text, '\n')
	}
	return !p.full
}

// result makes a success of the collected text: the value where it is one JSON value, null where there is none, else the
// text without its last line ends. What has been cut, or grows too long when it is quoted, is a text and marked truncated.
func (p *plain) result() wall.Result {
	yes := true
	r := wall.Result{Type: wall.TypeResult, Success: &yes}
	trimmed := bytes.TrimSpace(p.text)
	switch {
	case len(trimmed) == 0:
		r.Data = json.RawMessage("null")
	case !p.full && json.Valid(trimmed) && !wall.TooDeep(trimmed):
		r.Data = trimmed
	default:
		s, cut := fit(strings.TrimRight(string(p.text), "\r\n"), p.limit-envelope)
		r.Data, r.Truncated = quote(s), cut
	}
	r.Truncated = r.Truncated || p.full
	return r
}

// fit returns the longest beginning of s whose JSON string has at most room bytes, and whether anything was cut.
func fit(s string, room int) (head string, cut bool) {
	size := len(`""`)
	for i, c := range s {
		if size += quotedLen(c); size > room {
			return s[:i], true
		}
	}
	return s, false
}

// quotedLen is how many bytes encoding/json makes of a character when it doesn't escape HTML.
func quotedLen(c rune) int {
	switch {
	case c == '"', c == '\\', c == '\n', c == '\r', c == '\t', c == '\b', c == '\f':
		return 2
	case c < ' ', c == '\u2028', c == '\u2029':
		return 6
	}
	return utf8.RuneLen(c)
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
