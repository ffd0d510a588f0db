package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/a2e"
)

// take reads what was typed into a field. It returns nil where nothing was; Fault says what is wrong.
func (f *field) take(typed string) json.RawMessage {
	typed = normal(typed)
	f.Fault, f.Value = "", typed
	if f.Kind == kindSecret {
		f.Value = ""
	}
	f.choose()
	if blank := strings.TrimSpace(typed) == ""; typed == "" || blank && f.Kind != kindText && f.Kind != kindLine && f.Kind != kindSecret {
		if f.Required && f.Kind != kindLines {
			f.Fault = map[bool]string{true: "Choose one: it is required.", false: "Fill this in: it is required."}[f.Kind == kindChoice]
		}
		if f.Required && f.Kind == kindLines {
			return f.lines("")
		}
		return nil
	}
	var value json.RawMessage
	var err error
	switch f.Kind {
	case kindChoice:
		value, err = f.chosen(typed)
	case kindLines:
		return f.lines(typed)
	case kindJSON:
		value, err = f.object(typed)
	default:
		value, err = single(f.schema, typed)
	}
	if err != nil {
		f.Fault = sentence(err)
		return nil
	}
	return value
}

// normal is a text as it was meant: browsers send line ends their own way.
func normal(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

func sentence(err error) string {
	s := err.Error()
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

func (f *field) chosen(typed string) (json.RawMessage, error) {
	if !slices.ContainsFunc(f.Options, func(o option) bool { return o.Value == typed }) {
		return nil, errors.New("this is none of the values that it may have: choose one of the list")
	}
	return json.RawMessage(typed), nil
}

// lines reads a list.
func (f *field) lines(typed string) json.RawMessage {
	list := []json.RawMessage{}
	for i, line := range strings.Split(typed, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if f.schema.kind() != "string" {
			line = strings.TrimSpace(line)
		}
		value, err := single(f.schema, line)
		if err != nil {
			f.Fault = fmt.Sprintf("Line %d: %s.", i+1, err)
			return nil
		}
		list = append(list, value)
	}
	low, high := f.list.count("minItems"), f.list.count("maxItems")
	switch {
	case low > 0 && len(list) < low:
		f.Fault = fmt.Sprintf("Expected at least %s, got %d.", plural(low, "line", "lines"), len(list))
	case high >= 0 && len(list) > high:
		f.Fault = fmt.Sprintf("Expected at most %s, got %d.", plural(high, "line", "lines"), len(list))
	}
	b, err := json.Marshal(list)
	if err != nil || f.Fault != "" {
		return nil
	}
	return b
}

// object reads JSON.
func (f *field) object(typed string) (json.RawMessage, error) {
	if err := syntax(typed); err != nil {
		return nil, err
	}
	got := a2e.JSONKind([]byte(typed))
	if want := map[string]string{"object": "an object", "array": "a list"}[f.schema.kind()]; want != "" && got != want {
		return nil, fmt.Errorf("expected %s, got %s", want, got)
	}
	return json.RawMessage(typed), nil
}

// syntax says where a text is no JSON.
func syntax(typed string) error {
	var fault *json.SyntaxError
	err := json.Unmarshal([]byte(typed), new(any))
	if !errors.As(err, &fault) {
		return err
	}
	before := typed[:min(max(int(fault.Offset)-1, 0), len(typed))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1
	return fmt.Errorf("this is no JSON: %s, at line %d, column %d", plainText(fault.Error()), line, column)
}

// single reads one value that is no list and no object.
func single(s schema, typed string) (json.RawMessage, error) {
	kind := s.kind()
	switch kind {
	case "integer", "number":
		return number(s, strings.TrimSpace(typed))
	case "boolean":
		if typed != "true" && typed != "false" {
			return nil, errors.New("expected true or false")
		}
		return json.RawMessage(typed), nil
	}
	if kind != "string" && kind != "" { // a secret that is no text
		if err := syntax(typed); err != nil {
			return nil, errors.New("this is no JSON")
		}
		return json.RawMessage(typed), nil
	}
	n := utf8.RuneCountInString(typed)
	if low := s.count("minLength"); low > 0 && n < low {
		return nil, fmt.Errorf("expected at least %s, got %d", plural(low, "character", "characters"), n)
	}
	if high := s.count("maxLength"); high >= 0 && n > high {
		return nil, fmt.Errorf("expected at most %s, got %d", plural(high, "character", "characters"), n)
	}
	b, err := json.Marshal(typed)
	if choices := s.choices(); err == nil && len(choices) > 0 && !slices.Contains(choices, compact(b)) {
		return nil, errors.New("expected one of " + strings.Join(choices, ", "))
	}
	return b, err
}

// number reads a number and keeps it as it was typed.
func number(s schema, typed string) (json.RawMessage, error) {
	if len(typed) > 60 || !json.Valid([]byte(typed)) || a2e.JSONKind([]byte(typed)) != "a number" {
		return nil, errors.New("expected a number, such as 3 or 0.5")
	}
	n, err := strconv.ParseFloat(typed, 64)
	switch {
	case err != nil:
		return nil, errors.New("this number is too large")
	case s.kind() == "integer" && n != math.Trunc(n):
		return nil, errors.New("expected a whole number")
	}
	for _, bound := range []struct {
		key, words string
		holds      func(limit float64) bool
	}{
		{"minimum", "at least", func(l float64) bool { return n >= l }}, {"maximum", "at most", func(l float64) bool { return n <= l }},
		{"exclusiveMinimum", "more than", func(l float64) bool { return n > l }}, {"exclusiveMaximum", "less than", func(l float64) bool { return n < l }},
	} {
		limit, err := strconv.ParseFloat(s.number(bound.key), 64)
		if err == nil && !bound.holds(limit) {
			return nil, fmt.Errorf("expected %s %s", bound.words, s.number(bound.key))
		}
	}
	return json.RawMessage(typed), nil
}
