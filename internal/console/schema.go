package console

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// schema is a JSON Schema as a form needs it. What is not as the standard has it counts as not there: the call itself is held to
// the whole schema.
type schema map[string]json.RawMessage

func (s schema) text(key string) (t string) {
	_ = json.Unmarshal(s[key], &t)
	return t
}

func (s schema) flag(key string) (b bool) {
	_ = json.Unmarshal(s[key], &b)
	return b
}

// number is a number as it is written, "" for none.
func (s schema) number(key string) string {
	var n json.Number
	if raw := s[key]; len(raw) == 0 || raw[0] == '"' || json.Unmarshal(raw, &n) != nil {
		return ""
	}
	return n.String()
}

// count is a number of things; -1 is none.
func (s schema) count(key string) int {
	n, err := strconv.Atoi(s.number(key))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func (s schema) list(key string) (all []json.RawMessage) {
	_ = json.Unmarshal(s[key], &all)
	return all
}

func (s schema) sub(key string) (in schema) {
	_ = json.Unmarshal(s[key], &in)
	return in
}

func (s schema) has(key string) bool { _, ok := s[key]; return ok }

// kind is the type of what a schema takes, null aside; "" where it is not one type.
func (s schema) kind() string {
	if t := s.text("type"); t != "" {
		return t
	}
	kind := ""
	for _, raw := range s.list("type") {
		switch t := (schema{"t": raw}).text("t"); {
		case t == "null":
		case kind != "":
			return ""
		default:
			kind = t
		}
	}
	return kind
}

// choices are the values that a schema lists, as JSON.
func (s schema) choices() (all []string) {
	list := s.list("enum")
	if s.has("const") {
		list = []json.RawMessage{s["const"]}
	}
	for _, raw := range list {
		all = append(all, compact(raw))
	}
	return all
}

// keys are the members of an object in the order in which they are written.
func keys(object json.RawMessage) (all []string) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		var skipped json.RawMessage
		if err != nil || d.Decode(&skipped) != nil {
			return all
		}
		if key, ok := t.(string); ok && !seen[key] {
			seen[key] = true
			all = append(all, key)
		}
	}
	return all
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}

// indented is JSON as people read it.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return ""
	}
	return b.String()
}

// bare is a JSON value as it is typed into a field: a string without its quotes.
func bare(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && strings.HasPrefix(strings.TrimSpace(string(raw)), `"`) {
		return s
	}
	return compact(raw)
}
