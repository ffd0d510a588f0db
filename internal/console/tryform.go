package console

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// mostFields is how many arguments a form asks for one by one; a schema with more is filled in as JSON.
const mostFields = 100

// The kinds of fields.
const (
	kindLine   = "line"   // one line of text
	kindText   = "text"   // several
	kindSecret = "secret" // never shown again
	kindNumber = "number"
	kindChoice = "choice"
	kindLines  = "lines" // a list, one thing on a line
	kindJSON   = "json"
)

// field is one argument of a skill in a form.
type field struct {
	Key, ID, Name string // Key is the argument's, Name the form's
	Kind, Type    string // Type is of an input
	Label, About  string
	Hints         []string
	Required      bool
	Value         string
	Options       []option
	Placeholder   string
	Min, Max      string
	Step          string
	Fault         string

	schema schema // of what it takes; of one thing in a list
	list   schema // of the list
}

// option is a value to choose.
type option struct {
	Value, Label string
	Here         bool
}

// fieldsOf makes the fields of a form; nil where the arguments are better written as JSON. names are what is known of arguments
// where a skill has no schema.
func fieldsOf(input json.RawMessage, names []string) []*field {
	var s schema
	_ = json.Unmarshal(input, &s)
	properties := s.sub("properties")
	order := keys(s["properties"])
	var required []string
	_ = json.Unmarshal(s["required"], &required)
	if len(order) == 0 {
		properties = schema{}
		for _, name := range names {
			if !properties.has(name) {
				order, properties[name] = append(order, name), json.RawMessage(`{"type":"string"}`)
			}
		}
	}
	if len(order) > mostFields || slices.ContainsFunc([]string{"oneOf", "anyOf", "allOf", "$ref"}, s.has) && len(order) == 0 {
		return nil
	}
	var all []*field
	for i, key := range order {
		f := newField(key, properties.sub(key))
		f.ID, f.Required = "arg-"+strconv.Itoa(i), slices.Contains(required, key)
		f.fill()
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b *field) int { // what must be there comes first
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return all
}

// newField finds out how one argument is asked for.
func newField(key string, s schema) *field {
	f := &field{Key: key, Name: "arg:" + key, Label: s.text("title"), About: s.text("description"), schema: s}
	if f.Label == "" {
		f.Label = key
	}
	switch kind := s.kind(); {
	case s.flag("writeOnly") || kind == "string" && s.text("format") == "password":
		f.Kind, f.Type = kindSecret, "password"
	case len(s.choices()) > 0:
		f.Kind = kindChoice
	case kind == "string":
		f.asText()
	case kind == "integer" || kind == "number":
		f.Kind, f.Type, f.Min, f.Max, f.Step = kindNumber, "number", s.number("minimum"), s.number("maximum"), s.number("multipleOf")
		if f.Step == "" {
			f.Step = map[string]string{"integer": "1", "number": "any"}[kind]
		}
	case kind == "boolean":
		f.Kind, f.Options = kindChoice, []option{{Value: "true", Label: "yes"}, {Value: "false", Label: "no"}}
	case kind == "array" && scalar(s.sub("items")):
		f.Kind, f.list, f.schema = kindLines, s, s.sub("items")
	default:
		f.Kind = kindJSON
	}
	f.hint()
	return f
}

// scalar reports whether things of a list can stand on a line each.
func scalar(items schema) bool {
	return slices.Contains([]string{"string", "integer", "number", "boolean"}, items.kind())
}

// asText chooses how a text is typed.
func (f *field) asText() {
	f.Kind, f.Type = kindLine, "text"
	kinds := map[string]string{"date": "date", "time": "text", "email": "email", "uri": "url", "date-time": "text"}
	format := f.schema.text("format")
	if t := kinds[format]; t != "" {
		f.Type = t
	}
	longest := f.schema.count("maxLength")
	if format == "" && !f.schema.has("pattern") && f.Type == "text" && (longest < 0 || longest > 200) && (f.schema.text("contentMediaType") != "" || longest > 200 || long(f)) {
		f.Kind = kindText
	}
}

// long guesses from what is said of a text whether it has several lines.
func long(f *field) bool {
	for _, raw := range append(f.schema.list("examples"), f.schema["default"]) {
		if s := bare(raw); len(s) > 80 || strings.Contains(s, "\n") {
			return true
		}
	}
	about := strings.ToLower(f.Key + " " + f.About)
	for _, word := range []string{"text", "code", "content", "body", "source", "document", "prompt", "csv", "markdown", "diff", "patch", "log", "lines"} {
		if strings.Contains(about, word) {
			return true
		}
	}
	return false
}

// hint says what is expected.
func (f *field) hint() {
	say := func(s string) { f.Hints = append(f.Hints, s) }
	bounds := func(low, high, unit string) {
		switch {
		case low != "" && high != "":
			say(low + " to " + high + unit)
		case low != "":
			say("at least " + low + unit)
		case high != "":
			say("at most " + high + unit)
		}
	}
	s := f.schema
	switch f.Kind {
	case kindLines:
		say("one on each line")
		bounds(f.list.number("minItems"), f.list.number("maxItems"), " of them")
		if s.kind() != "string" {
			say("each a " + map[string]string{"integer": "whole number", "number": "number", "boolean": "true or false"}[s.kind()])
		}
		if choices := s.choices(); len(choices) > 0 {
			say("of " + strings.Join(choices, ", "))
		}
	case kindJSON:
		say("as JSON" + map[string]string{"object": ": an object, {...}", "array": ": a list, [...]"}[s.kind()])
	case kindNumber:
		if s.kind() == "integer" {
			say("a whole number")
		}
		bounds(s.number("minimum"), s.number("maximum"), "")
		if n := s.number("exclusiveMinimum"); n != "" {
			say("more than " + n)
		}
		if n := s.number("exclusiveMaximum"); n != "" {
			say("less than " + n)
		}
	}
	f.hintText(say, bounds)
}

func (f *field) hintText(say func(string), bounds func(low, high, unit string)) {
	if f.schema.kind() == "string" {
		bounds(f.schema.number("minLength"), f.schema.number("maxLength"), " characters")
		switch format := f.schema.text("format"); format {
		case "", "password", "date":
		case "date-time":
			say("a time like 2026-01-31T23:59:00Z")
		default:
			say("format " + format)
		}
		if p := f.schema.text("pattern"); p != "" {
			say("pattern " + clip(p, 200))
		}
	}
	if f.Kind == kindSecret {
		say("it is not shown again")
	}
}

// fill puts in what the schema proposes.
func (f *field) fill() {
	if f.Kind == kindChoice && len(f.Options) == 0 {
		for _, value := range f.schema.choices() {
			f.Options = append(f.Options, option{Value: value, Label: bare(json.RawMessage(value))})
		}
	}
	s := f.schema
	if f.list != nil {
		s = f.list
	}
	if s.has("default") {
		f.propose(s["default"])
	}
	if examples := s.list("examples"); len(examples) > 0 && f.Kind != kindSecret && f.Kind != kindChoice {
		f.Placeholder = clip(bare(examples[0]), 200)
	}
}

// propose fills a field with a value in JSON.
func (f *field) propose(raw json.RawMessage) {
	if f.Kind == kindSecret || len(raw) == 0 {
		return
	}
	switch f.Kind {
	case kindChoice:
		f.Value = compact(raw)
	case kindLines:
		var list []json.RawMessage
		_ = json.Unmarshal(raw, &list)
		lines := make([]string, len(list))
		for i := range list {
			lines[i] = bare(list[i])
		}
		f.Value = strings.Join(lines, "\n")
	case kindJSON:
		f.Value = indented(raw)
	default:
		f.Value = bare(raw)
	}
	f.choose()
}

// choose marks the option that is chosen.
func (f *field) choose() {
	for i := range f.Options {
		f.Options[i].Here = f.Options[i].Value == f.Value
	}
}
