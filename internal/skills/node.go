package skills

import (
	"encoding/json"
	"strconv"
)

// nodeKind is what a YAML node is.
type nodeKind int

const (
	nullKind nodeKind = iota
	stringKind
	intKind
	floatKind
	boolKind
	listKind
	mapKind
)

func (k nodeKind) String() string {
	switch k {
	case stringKind:
		return "a string"
	case intKind, floatKind:
		return "a number"
	case boolKind:
		return "true or false"
	case listKind:
		return "a list"
	case mapKind:
		return "a mapping"
	case nullKind:
	}
	return "nothing"
}

// node is one value of a YAML file with its place. It is a tree: aliases, tags and duplicate keys were refused before.
type node struct {
	kind         nodeKind
	text         string // a scalar as written, a string without its quotes
	json         string // a number or boolean as JSON
	fields       []field
	items        []*node
	line, column int
}

// field is one entry of a mapping, in the order of the file.
type field struct {
	key   string
	name  *node // the key, for its place
	value *node
}

// get returns the value of a key, or nil. n may be nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// at follows a JSON pointer's tokens and returns the deepest node that is there.
func (n *node) at(tokens []string) *node {
	for _, tok := range tokens {
		next := n.get(tok)
		if i, err := strconv.Atoi(tok); err == nil && n.kind == listKind && i >= 0 && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// appendJSON writes n as JSON, with the keys in the order of the file.
func (n *node) appendJSON(b []byte) []byte {
	switch n.kind {
	case mapKind:
		b = append(b, '{')
		for i, f := range n.fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, f.key), ':')
			b = f.value.appendJSON(b)
		}
		return append(b, '}')
	case listKind:
		b = append(b, '[')
		for i, it := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = it.appendJSON(b)
		}
		return append(b, ']')
	case stringKind:
		return appendString(b, n.text)
	case intKind, floatKind, boolKind:
		return append(b, n.json...)
	case nullKind:
	}
	return append(b, "null"...)
}

func appendString(b []byte, s string) []byte {
	q, _ := json.Marshal(s) // a string always marshals
	return append(b, q...)
}

// value returns n as encoding/json would decode it, numbers as json.Number.
func (n *node) value() any {
	switch n.kind {
	case mapKind:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			m[f.key] = f.value.value()
		}
		return m
	case listKind:
		l := make([]any, len(n.items))
		for i, it := range n.items {
			l[i] = it.value()
		}
		return l
	case stringKind:
		return n.text
	case intKind, floatKind:
		return json.Number(n.json)
	case boolKind:
		return n.json == "true"
	case nullKind:
	}
	return nil
}
