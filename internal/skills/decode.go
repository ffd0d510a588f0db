package skills

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// decoder reads a node tree into Go values and reports what does not fit.
type decoder struct {
	*report
	file string
}

// setter takes the value of one key; path names it for people.
type setter func(n *node, path string)

// fields reads a mapping by a table of its keys. Every other key is an error of the code unknown.
func (d *decoder) fields(n *node, path, unknown string, known map[string]setter) {
	if n.kind != mapKind {
		d.wrongType(n, path, "a mapping")
		return
	}
	for _, f := range n.fields {
		full := join(path, f.key)
		set, ok := known[f.key]
		switch {
		case !ok:
			d.at(d.file, f.name, full, SeverityError, unknown, "unknown key %q%s", clip(f.key, 64), didYouMean(f.key, known))
		case f.value.kind != nullKind: // a key with nothing behind it says nothing
			set(f.value, full)
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return clip(key, 64)
	}
	return path + "." + clip(key, 64)
}

func didYouMean(key string, known map[string]setter) string {
	names := make([]string, 0, len(known))
	for k := range known {
		names = append(names, k)
	}
	if s := closest(key, names); s != "" {
		return fmt.Sprintf("; did you mean %q?", s)
	}
	return ""
}

func (d *decoder) wrongType(n *node, path, want string) {
	hint := ""
	if want == "a string" && (n.kind == intKind || n.kind == floatKind || n.kind == boolKind) {
		hint = fmt.Sprintf(": write %q", clip(n.text, 32))
	}
	where := path
	if where == "" {
		where = d.file
	}
	d.at(d.file, n, path, SeverityError, CodeWrongType, "%s: expected %s, got %s%s", where, want, n.kind, hint)
}

func (d *decoder) invalid(n *node, path, format string, args ...any) {
	d.at(d.file, n, path, SeverityError, CodeInvalidValue, "%s: %s", path, fmt.Sprintf(format, args...))
}

// text reads a string of at most limit bytes.
func (d *decoder) text(dst *string, limit int) setter {
	return func(n *node, path string) {
		switch {
		case n.kind != stringKind:
			d.wrongType(n, path, "a string")
		case len(n.text) > limit:
			d.invalid(n, path, "%d bytes are too many; the most is %d", len(n.text), limit)
		default:
			*dst = n.text
		}
	}
}

// texts reads a list of non-empty strings.
func (d *decoder) texts(dst *[]string, most, limit int) setter {
	return func(n *node, path string) {
		if n.kind != listKind {
			d.wrongType(n, path, "a list of strings")
			return
		}
		if len(n.items) > most {
			d.invalid(n, path, "%d entries are too many; the most is %d", len(n.items), most)
			return
		}
		out := make([]string, 0, len(n.items))
		for i, it := range n.items {
			at := path + "[" + strconv.Itoa(i) + "]"
			var s string
			d.text(&s, limit)(it, at)
			if it.kind == stringKind && strings.TrimSpace(it.text) == "" {
				d.invalid(it, at, "must not be empty")
			}
			out = append(out, s)
		}
		*dst = out
	}
}

func (d *decoder) bool(dst *bool) setter {
	return func(n *node, path string) {
		if n.kind != boolKind {
			d.wrongType(n, path, "true or false")
			return
		}
		*dst = n.json == "true"
	}
}

// int reads a whole number in a range.
func (d *decoder) int(dst *int64, least, most int64) setter {
	return func(n *node, path string) {
		v, err := strconv.ParseInt(n.json, 10, 64)
		switch {
		case n.kind != intKind:
			d.wrongType(n, path, "a whole number")
		case err != nil || v < least || v > most:
			d.invalid(n, path, "expected a whole number from %d to %d", least, most)
		default:
			*dst = v
		}
	}
}

// wish reads a whole number above 0 that is held against the policy's bounds later; least and most are those bounds.
func (d *decoder) wish(dst *int64, least, most int64) setter {
	return func(n *node, path string) {
		v, err := strconv.ParseInt(n.json, 10, 64)
		switch {
		case n.kind != intKind:
			d.wrongType(n, path, "a whole number")
		case err != nil || v < 1 || v > maxAsked:
			d.invalid(n, path, "expected a whole number from %d to %d", least, most)
		default:
			*dst = v
		}
	}
}

// list reads a list of whatever.
func (d *decoder) list(dst *[]any, most int) setter {
	return func(n *node, path string) {
		switch {
		case n.kind != listKind:
			d.wrongType(n, path, "a list")
		case len(n.items) > most:
			d.invalid(n, path, "%d entries are too many; the most is %d", len(n.items), most)
		default:
			*dst, _ = n.value().([]any)
		}
	}
}

func (d *decoder) mapping(dst *map[string]any) setter {
	return func(n *node, path string) {
		if n.kind != mapKind {
			d.wrongType(n, path, "a mapping")
			return
		}
		*dst, _ = n.value().(map[string]any)
	}
}

// node keeps a mapping as it stands, for a schema.
func (d *decoder) node(dst **node) setter {
	return func(n *node, path string) {
		if n.kind != mapKind {
			d.wrongType(n, path, "a JSON Schema (a mapping)")
			return
		}
		*dst = n
	}
}

// unit reads a quantity through a parser such as [policies.ParseBytes]; a bare number is a quantity as well.
func unit[T ~int64](d *decoder, dst *T, parse func(string) (T, error)) setter {
	return func(n *node, path string) {
		if n.kind != stringKind && n.kind != intKind && n.kind != floatKind {
			d.wrongType(n, path, "a quantity")
			return
		}
		text := n.text
		if n.kind == intKind {
			text = n.json
		}
		v, err := parse(text)
		if err != nil {
			d.invalid(n, path, "%s", clip(err.Error(), 200))
			return
		}
		*dst = v
	}
}

// rawJSON renders a node, or nil.
func rawJSON(n *node) json.RawMessage {
	if n == nil {
		return nil
	}
	return n.appendJSON(nil)
}
