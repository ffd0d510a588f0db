package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/a2e"
)

// fields are the members of a JSON object that a request carries, by exact name. The first fault stays, and the reads after it
// give zero values.
type fields struct {
	raw   map[string]json.RawMessage
	path  string // before names in faults: "settings."
	known []string
	err   error
}

// readFields reads the body of a request as one JSON object. A body that is not there has no members where that is optional.
func readFields(r *http.Request, optional bool) (*fields, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, unread(err)
	}
	if optional && len(bytes.TrimSpace(b)) == 0 {
		return &fields{}, nil
	}
	return parseFields(b, "")
}

// unread is why the body of a request is not there.
func unread(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return err
	}
	return problemf(http.StatusRequestTimeout, "incomplete", "the body did not arrive whole, or not in time")
}

func parseFields(b []byte, path string) (*fields, error) {
	if !utf8.Valid(b) {
		return nil, invalid("Request body must be valid JSON: it is not UTF-8.")
	}
	if !json.Valid(b) {
		var v json.RawMessage
		return nil, invalid("Request body must be valid JSON: %v.", json.Unmarshal(b, &v))
	}
	if half := halfCharacter(b); half != "" {
		return nil, invalid("Request body must be valid JSON: %s is half a character.", half)
	}
	f := &fields{path: path, raw: map[string]json.RawMessage{}}
	dec := json.NewDecoder(bytes.NewReader(b))
	if open, _ := dec.Token(); open != json.Delim('{') {
		return nil, invalid("%s: expected an object, got %s", f.name(""), a2e.JSONKind(b))
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, invalid("Request body must be valid JSON: %v.", err)
		}
		name, _ := key.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, invalid("Request body must be valid JSON: %v.", err)
		}
		if _, twice := f.raw[name]; twice {
			return nil, invalid("%s stands twice", f.name(name))
		}
		f.raw[name] = raw
	}
	return f, nil
}

// halfCharacter returns the first escape in valid JSON that is half of a pair without the other half: a decoder would put
// something else in its place.
func halfCharacter(b []byte) string {
	for i := 0; i+1 < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		if i++; b[i] != 'u' {
			continue
		}
		first := escaped(b[i-1:])
		if i += 4; !utf16.IsSurrogate(first) {
			continue
		}
		if second := escaped(b[i+1:]); utf16.DecodeRune(first, second) == utf8.RuneError {
			return string(b[i-5 : i+1])
		}
		i += 6
	}
	return ""
}

// escaped reads an escape such as \u00e9, or returns 0.
func escaped(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

// name is a member in faults: short, and quoted where it is a stranger's word.
func (f *fields) name(field string) string {
	switch {
	case field == "" && f.path == "":
		return "request body"
	case field == "":
		return strings.TrimSuffix(f.path, ".")
	case slices.Contains(f.known, field):
		return f.path + field
	}
	return f.path + strconv.Quote(clip(field, 64))
}

func (f *fields) refuse(err error) {
	if f.err == nil {
		f.err = err
	}
}

// get returns a member, nil where there is none.
func (f *fields) get(field string) json.RawMessage {
	f.known = append(f.known, field)
	return f.raw[field]
}

// null reports whether a member is there and null.
func (f *fields) null(field string) bool { return string(f.raw[field]) == "null" }

// text reads a string. null counts as not given.
func (f *fields) text(field string) *string {
	raw := f.get(field)
	if raw == nil || string(raw) == "null" {
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		f.refuse(invalid("%s: expected a string, got %s", f.name(field), a2e.JSONKind(raw)))
		return nil
	}
	return &s
}

// id reads the number of a principal; 0 where none is given.
func (f *fields) id(field string) int64 {
	raw := f.get(field)
	if raw == nil || string(raw) == "null" {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n <= 0 {
		f.refuse(invalid("%s: expected a whole number above 0", f.name(field)))
	}
	return n
}

// object reads a member that is an object itself; nil where there is none. Not a list, not null.
func (f *fields) object(field string) *fields {
	raw := f.get(field)
	if raw == nil {
		return nil
	}
	in, err := parseFields(raw, f.path+field+".")
	if err != nil {
		f.refuse(err)
		return nil
	}
	return in
}

// end returns the first fault, which may be a member that nobody asked for.
func (f *fields) end() error {
	if f.err != nil {
		return f.err
	}
	for _, name := range slices.Sorted(maps.Keys(f.raw)) {
		if !slices.Contains(f.known, name) {
			return invalid("unknown field %s: expected %s", f.name(name), oneOf(f.known))
		}
	}
	return nil
}

func oneOf(names []string) string {
	switch len(names) {
	case 0:
		return "no fields"
	case 1:
		return names[0]
	}
	last := len(names) - 1
	return fmt.Sprintf("%s or %s", strings.Join(names[:last], ", "), names[last])
}

// clip cuts a stranger's text.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
