package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/wall"
)

// maxArgument bounds what is read for one argument, in bytes: a request line can't be longer.
const maxArgument = wall.MaxLong

// argReader turns --arg and --args into a call's arguments. Standard input can be read once.
type argReader struct {
	stdin     io.Reader
	stdinUsed bool
}

// read returns the arguments of a call. all is --args: a JSON object, @file or -; each is --arg: k=text, k=@file, k=@-,
// k=@@text for a text that starts with @, or k:=JSON. What --arg says wins. A text becomes what the skill's schema asks
// for where it can be read as that.
func (r *argReader) read(all string, each []string, schema json.RawMessage) (map[string]any, error) {
	args, err := r.object(all)
	if err != nil {
		return nil, fmt.Errorf("--args: %w", err)
	}
	types := schemaTypes(schema)
	seen := map[string]bool{}
	for _, arg := range each {
		key, value, err := r.pair(arg, types)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, fmt.Errorf("--arg %s is given twice", oneLine(key, 80))
		}
		seen[key] = true
		args[key] = value
	}
	return args, nil
}

func (r *argReader) object(all string) (map[string]any, error) {
	switch {
	case all == "":
		return map[string]any{}, nil
	case all == "-":
		all = "@-"
	}
	text := all
	if name, ok := strings.CutPrefix(all, "@"); ok {
		var err error
		if text, err = r.file(name); err != nil {
			return nil, err
		}
	}
	value, err := decodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("expected a JSON object, @file or -: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("expected a JSON object, got %s", kindOf(value))
	}
	return object, nil
}

func (r *argReader) pair(arg string, types map[string][]string) (key string, value any, err error) {
	key, text, ok := strings.Cut(arg, "=")
	typed := strings.HasSuffix(key, ":")
	key = strings.TrimSuffix(key, ":")
	if !ok || key == "" {
		return "", nil, fmt.Errorf("--arg %q: expected key=text, key=@file or key:=JSON", oneLine(arg, 80))
	}
	if !utf8.ValidString(key) {
		return "", nil, fmt.Errorf("--arg %q: the key is not UTF-8", oneLine(arg, 80))
	}
	switch name, isFile := strings.CutPrefix(text, "@"); {
	case isFile && strings.HasPrefix(name, "@"):
		text = name
	case isFile:
		if text, err = r.file(name); err != nil {
			return "", nil, fmt.Errorf("--arg %s: %w", oneLine(key, 80), err)
		}
	case !utf8.ValidString(text):
		return "", nil, fmt.Errorf("--arg %s: the value is not UTF-8", oneLine(key, 80))
	}
	if !typed {
		return key, convert(text, types[key]), nil
	}
	if value, err = decodeJSON(text); err != nil {
		return "", nil, fmt.Errorf("--arg %s: expected JSON after := : %w", oneLine(key, 80), err)
	}
	return key, value, nil
}

// file reads a text file, or standard input for "-".
func (r *argReader) file(name string) (string, error) {
	src, label := r.stdin, "standard input"
	switch {
	case name == "":
		return "", errors.New("expected a file name after @")
	case name == "-" && r.stdinUsed:
		return "", errors.New("standard input is read already")
	case name == "-":
		r.stdinUsed = true
	default:
		f, err := os.Open(name)
		if err != nil {
			return "", plainPathError(err)
		}
		defer f.Close()
		src, label = f, name
	}
	data, err := io.ReadAll(io.LimitReader(src, maxArgument+1))
	switch {
	case err != nil:
		return "", plainPathError(err)
	case len(data) > maxArgument:
		return "", fmt.Errorf("%s: more than %s: hand it in with --input", label, size(maxArgument))
	case !utf8.Valid(data):
		return "", fmt.Errorf("%s: not UTF-8 text: hand it in with --input", label)
	}
	return string(data), nil
}

// plainPathError drops the system call from a path error: "no.py: no such file or directory".
func plainPathError(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}

// decodeJSON reads exactly one JSON value. Numbers keep their digits.
func decodeJSON(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("the JSON text ends too early")
		}
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the JSON value")
	}
	return value, nil
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}

// schemaTypes returns the types that a schema's own properties name.
func schemaTypes(schema json.RawMessage) map[string][]string {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	types := map[string][]string{}
	if json.Unmarshal(schema, &s) != nil {
		return types
	}
	for name, p := range s.Properties {
		var one string
		var many []string
		switch {
		case json.Unmarshal(p.Type, &one) == nil:
			types[name] = []string{one}
		case json.Unmarshal(p.Type, &many) == nil:
			types[name] = many
		}
	}
	return types
}

// convert reads text as one of the types, unless a string is among them. What can't be read stays text, so that the
// schema's own check says what is wrong.
func convert(text string, types []string) any {
	if len(types) == 0 || slices.Contains(types, "string") {
		return text
	}
	value, err := decodeJSON(text)
	if err != nil {
		return text
	}
	var is string
	switch v := value.(type) {
	case nil:
		is = "null"
	case bool:
		is = "boolean"
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	case json.Number:
		is = "number"
		if _, err := v.Int64(); err == nil && slices.Contains(types, "integer") {
			is = "integer"
		}
	}
	if slices.Contains(types, is) {
		return value
	}
	return text
}

// compact is value as one line of JSON.
func compact(value any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "?"
	}
	return strings.TrimSpace(b.String())
}
