package a2e

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// quick appends what the encoder makes of a request of plain strings, as most are, and reports whether this is one. Between a call and
// its cell there is nothing slower than reflection over what was not looked at for a while.
func (r *CallRequest) quick(b []byte) ([]byte, bool) {
	if r.TS != 0 || math.Signbit(r.TS) || r.LLMOverride != nil { // zero has a sign of its own
		return nil, false
	}
	ok := true
	field := func(name, value string) {
		if ok {
			b, ok = quickString(append(b, name...), value)
		}
	}
	object := func(name string, value map[string]any) {
		if ok {
			b, ok = quickObject(append(b, name...), value)
		}
	}
	field(`{"type":`, r.Type)
	field(`,"id":`, r.ID)
	field(`,"version":`, r.Version)
	field(`,"ts":0,"name":`, r.Name)
	object(`,"arguments":`, r.Arguments)
	field(`,"correlation_id":`, r.CorrelationID)
	if r.Timeout != nil {
		b = strconv.AppendInt(append(b, `,"timeout":`...), int64(*r.Timeout), 10)
	}
	if r.Streaming != nil {
		b = strconv.AppendBool(append(b, `,"streaming":`...), *r.Streaming)
	}
	object(`,"llm_override":null,"metadata":`, r.Metadata)
	return append(b, '}'), ok
}

// quickObject appends an object whose values are plain strings, true, false and null; {} for nil.
func quickObject(b []byte, m map[string]any) (_ []byte, ok bool) {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		if b, ok = quickString(b, key); !ok {
			return b, false
		}
		b = append(b, ':')
		switch v := m[key].(type) {
		case string:
			if b, ok = quickString(b, v); !ok {
				return b, false
			}
		case bool:
			b = strconv.AppendBool(b, v)
		case nil:
			b = append(b, "null"...)
		default:
			return b, false
		}
	}
	return append(b, '}'), true
}

// quickString appends a string in which nothing is to be escaped: printable ASCII without quotes and backslashes.
func quickString(b []byte, s string) ([]byte, bool) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return b, false
		}
	}
	return append(append(append(b, '"'), s...), '"'), true
}
