package config

import (
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/llm"
)

// kind is what a key names.
type kind int

const (
	unknownKey kind = iota
	section         // has fields below it
	leaf            // a field
	entry           // an entry of a field that is a mapping
)

// schema answers questions about keys.
type schema struct {
	fields map[string]field
	below  map[string][]string // section ("" for the top) → the names in it, in order
}

func newSchema() schema {
	s := schema{fields: map[string]field{}, below: map[string][]string{}}
	for _, f := range fields() {
		s.fields[f.key] = f
		parent := ""
		for name := range strings.SplitSeq(f.key, ".") {
			if !slices.Contains(s.below[parent], name) {
				s.below[parent] = append(s.below[parent], name)
			}
			parent = join(parent, name)
		}
	}
	return s
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func (s schema) kind(key string) kind {
	if _, ok := s.fields[key]; ok {
		return leaf
	}
	if _, ok := s.below[key]; ok {
		return section
	}
	if i := strings.LastIndexByte(key, '.'); i > 0 {
		if f, ok := s.fields[key[:i]]; ok && f.isMap() {
			return entry
		}
	}
	return unknownKey
}

func (f field) isMap() bool {
	_, ok := f.place(&Config{}).(*map[string]string)
	return ok
}

// fileOnly reports whether a field has more to say than a variable or a flag can.
func (f field) fileOnly() bool {
	switch f.place(&Config{}).(type) {
	case *Secrets, *Logins, *[]llm.Provider, *map[string]MCPServer, *map[string]Tenant:
		return true
	}
	return false
}

// inFileOnly reports whether a key is that of a field for files alone, or below it.
func (s schema) inFileOnly(key string) bool {
	for k, f := range s.fields {
		if (key == k || strings.HasPrefix(key, k+".")) && f.fileOnly() {
			return true
		}
	}
	return false
}

// why says what is wrong with an unknown key, and what to write instead.
func (s schema) why(key string) string {
	parent, name := "", key
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		parent, name = key[:i], key[i+1:]
	}
	siblings := s.below[parent]
	if near := nearest(name, siblings); near != "" {
		return "unknown key, did you mean " + near + "?"
	}
	if len(siblings) == 0 {
		return "unknown key"
	}
	return "unknown key, expected one of " + strings.Join(siblings, ", ")
}

// nearest returns the candidate within two edits of name, or "".
func nearest(name string, candidates []string) string {
	best, at := "", 3
	if len(name) > 64 {
		return ""
	}
	for _, c := range candidates {
		if d := distance(name, c); d < at && d < len(c) {
			best, at = c, d
		}
	}
	return best
}

// distance counts the edits (insert, delete, replace, swap of neighbours) that turn a into b, in bytes.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
