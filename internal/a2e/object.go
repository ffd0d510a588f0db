package a2e

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// object reads the fields of one JSON object by exact name. The first fault stays in err and the reads after it give
// zero values. Null counts as absent unless a reader says otherwise.
type object struct {
	line []byte // the whole message
	raw  map[string]json.RawMessage
	path string // before the field's name in faults: "llm_override."
	code Code   // of faults
	err  *Error
}

func (o *object) refuse(err *Error) {
	if o.err == nil {
		o.err = err
	}
}

// violation notes that field is not as expected. Got must not be a value that could be a secret.
func (o *object) violation(field, expected, got string) {
	field = o.path + field
	o.refuse(Errorf(o.code, "%s: expected %s, got %s", field, expected, got).With("field", field))
}

// get decodes a field into v and reports whether it is there and good.
func (o *object) get(field, expected string, v any) bool {
	raw, ok := o.raw[field]
	if !ok || string(raw) == "null" {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(v) != nil {
		o.violation(field, expected, JSONKind(raw))
		return false
	}
	return true
}

func (o *object) text(field string) (s string) {
	o.get(field, "a string", &s)
	return s
}

// name reads a text that is echoed, logged or put into an environment: bounded and without control characters.
func (o *object) name(field string, most int) string {
	s := o.text(field)
	if len(s) > most {
		o.violation(field, "at most "+strconv.Itoa(most)+" bytes", strconv.Itoa(len(s)))
		return ""
	}
	if strings.ContainsFunc(s, control) {
		o.violation(field, "text without control characters", quote(s))
		return ""
	}
	return s
}

func control(r rune) bool { return r < 0x20 || r == 0x7f }

// peek is name for a message that may be refused anyhow: what is not good is "".
func (o *object) peek(field string, most int) string {
	probe := object{raw: o.raw}
	return probe.name(field, most)
}

func (o *object) texts(field string) (l []string) {
	o.get(field, "a list of strings", &l)
	return l
}

func (o *object) dict(field string) (m map[string]any) {
	o.get(field, "an object", &m)
	return m
}

func (o *object) flag(field string) *bool {
	var b bool
	if !o.get(field, "true or false", &b) {
		return nil
	}
	return &b
}

func (o *object) seconds(field string, absent float64) float64 {
	f := absent
	if !o.get(field, "a number of seconds", &f) || f < 0 {
		return absent
	}
	return f
}

// timeout reads whole seconds above 0, as a number or as a number in a string. What is beyond 31 bits is cut to that,
// which is longer than anything runs.
func (o *object) timeout(field string) *int {
	raw, ok := o.raw[field]
	if !ok {
		return nil
	}
	const expected = "a whole number of seconds above 0"
	var n json.Number // takes numbers and strings that hold one
	if json.Unmarshal(raw, &n) != nil || n == "" {
		o.violation(field, expected, JSONKind(raw))
		return nil
	}
	f, err := n.Float64()
	if math.IsInf(f, 1) {
		f, err = math.MaxInt32, nil
	}
	if err != nil || f <= 0 || f != math.Trunc(f) {
		o.violation(field, expected, clip(string(raw)))
		return nil
	}
	seconds := int(min(f, math.MaxInt32))
	return &seconds
}

// llm reads an LLMConfig. Its faults never quote a value.
func (o *object) llm(field string) *LLMConfig {
	in := object{path: o.path + field + ".", code: o.code}
	if !o.get(field, "an object", &in.raw) {
		return nil
	}
	c := &LLMConfig{ProviderName: in.text("provider_name"), ProviderCredentials: in.dict("provider_credentials")}
	if string(in.raw["provider_config"]) != "false" {
		c.ProviderConfig = in.dict("provider_config")
	}
	if isDefault := in.flag("is_default"); isDefault != nil {
		c.IsDefault = *isDefault
	}
	if in.err != nil {
		o.refuse(in.err)
	}
	return c
}

// JSONKind names the kind of a JSON value, for messages.
func JSONKind(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f', 'n':
		return string(raw)
	}
	return "a number"
}

// quote quotes at most 64 bytes of a stranger's text.
func quote(s string) string { return strconv.Quote(clip(s)) }

// clip cuts a stranger's text to at most 64 bytes.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
