package wall

import (
	"bytes"
	"encoding/json"
)

// maxMembers bounds the top level of a line: no line of the protocol has more than a dozen members.
const maxMembers = 256

// member is one key of an object's top level with its value as it stands in the line.
type member struct {
	key string
	raw []byte
}

// object is the top level of a line. Keys are exact: encoding/json would take "Type" for "type" and the last of two, so
// that the two ends of the wall could read one line differently.
type object []member

// parseObject accepts one JSON object without double keys. [scan] bounds its depth.
func parseObject(line []byte) (object, error) {
	o, _, err := scan(line)
	return o, err
}

func (o object) has(key string) bool {
	for _, m := range o {
		if m.key == key {
			return true
		}
	}
	return false
}

// get returns a value, nil where it is absent or null.
func (o object) get(key string) []byte {
	for _, m := range o {
		if m.key == key && string(m.raw) != "null" {
			return m.raw
		}
	}
	return nil
}

// TypeOf returns the top-level "type" of a line, and "" for what is not a JSON object, has a key twice, or has no type.
func TypeOf(line []byte) string { return Parse(line).Type() }

func (o object) typ() string {
	if raw := o.get("type"); len(raw) > 0 && raw[0] == '"' {
		return known(raw)
	}
	return ""
}

// ClaimOf returns the type that a line claims, also where the line is no valid JSON or has a key twice. It tells a failed
// frame from text.
func ClaimOf(line []byte) string { return peekType(line) }

// peekType finds the top-level "type" in the beginning of a line that is not complete. It is a guess.
func peekType(b []byte) string {
	w := walker{b: b}
	if !w.open() {
		return ""
	}
	for range maxMembers {
		key, raw, ok := w.next()
		if !ok {
			return ""
		}
		if unquote(key) == "type" {
			return unquote(raw)
		}
	}
	return ""
}

// Text reads a JSON string; what is none gives "".
func Text(raw []byte) string { return unquote(raw) }

// unquote reads a JSON string; what is none gives "".
func unquote(raw []byte) string {
	if len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// known is [unquote] for the words that are in every line, without a copy.
func known(raw []byte) string {
	switch string(raw) {
	case `"type"`:
		return "type"
	case `"kind"`:
		return "kind"
	case `"data"`:
		return "data"
	case `"level"`:
		return "level"
	case `"message"`:
		return "message"
	case `"` + TypeEvent + `"`:
		return TypeEvent
	}
	return unquote(raw)
}

// MaxDepth bounds how deep the values of a line may nest: whoever reads an answer later recurses into it.
const MaxDepth = 256

// TooDeep reports whether valid JSON nests deeper than [MaxDepth].
func TooDeep(b []byte) bool { return DeeperThan(b, MaxDepth) }

// DeeperThan reports whether JSON nests deeper than most levels.
func DeeperThan[T ~string | ~[]byte](b T, most int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// walker steps through the top level of an object. On valid JSON it is exact; on anything else it ends somewhere without
// harm. It doesn't recurse.
type walker struct {
	b []byte
	i int
}

func (w *walker) open() bool {
	if w.peek() != '{' {
		return false
	}
	w.i++
	return true
}

// next returns the next key, with its quotes, and its value. ok is false at the object's end and where the input ends.
func (w *walker) next() (key, raw []byte, ok bool) {
	if w.peek() == ',' {
		w.i++
	}
	if w.peek() != '"' {
		return nil, nil, false
	}
	if key, ok = w.value(); !ok || w.peek() != ':' {
		return nil, nil, false
	}
	w.i++
	w.peek()
	raw, ok = w.value()
	return key, raw, ok
}

// peek skips white space and returns the byte behind it, 0 at the end.
func (w *walker) peek() byte {
	for ; w.i < len(w.b); w.i++ {
		switch c := w.b[w.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// value returns the value that begins here; ok is false when the input ends inside it.
func (w *walker) value() (raw []byte, ok bool) {
	start, depth := w.i, 0
	for w.i < len(w.b) {
		switch w.b[w.i] {
		case '"':
			if !w.skipString() {
				return nil, false
			}
			if depth == 0 {
				return w.b[start:w.i], true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return w.b[start:w.i], w.i > start
			}
			if depth--; depth == 0 {
				w.i++
				return w.b[start:w.i], true
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return w.b[start:w.i], w.i > start
			}
		}
		w.i++
	}
	return nil, false
}

// skipString steps over the string that begins here.
func (w *walker) skipString() bool {
	for w.i++; w.i < len(w.b); w.i++ {
		switch w.b[w.i] {
		case '\\':
			w.i++
		case '"':
			w.i++
			return true
		}
	}
	return false
}
