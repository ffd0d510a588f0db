package skills

import (
	"iter"
	"strconv"
	"strings"
	"unicode"
)

// declaration is a tool or a toolkit as skill.yaml declares it. In a composed skill, one of an included skill has that
// skill's name and stands where the includes do.
type declaration struct {
	name string
	from string // the included skill that declares it; "": the skill itself
	path string // "tools[1]"
	at   *node
	raw  any
}

// declared reads a list of tools or toolkits: names, or mappings that have a name under "tool" or "name". What else such
// a mapping says is for other protocols.
func (d *decoder) declared(dst *[]declaration) setter {
	return func(n *node, path string) {
		var raw []any
		d.list(&raw, maxEntries)(n, path)
		for i := range raw {
			it, at := n.items[i], path+"["+strconv.Itoa(i)+"]"
			if name, ok := d.toolName(it, at); ok {
				*dst = append(*dst, declaration{name: name, path: at, at: it, raw: raw[i]})
			}
		}
	}
}

func (d *decoder) toolName(n *node, path string) (string, bool) {
	if n.kind == mapKind {
		for _, key := range []string{"tool", "name"} {
			if v := n.get(key); v != nil {
				n, path = v, path+"."+key
				break
			}
		}
	}
	switch {
	case n.kind == mapKind:
		d.at(d.file, n, path, SeverityError, CodeWrongType, "%s: expected a name, or a mapping with the key tool or name", path)
	case n.kind != stringKind:
		d.wrongType(n, path, "a name")
	case !goodToolName(n.text):
		d.invalid(n, path, "%s is no name of a tool; expected one such as calculator, skill:NAME or mcp:SERVER/TOOL", quote(n.text))
	default:
		return n.text, true
	}
	return "", false
}

func goodToolName(name string) bool {
	return name != "" && len(name) <= maxWord && !strings.ContainsFunc(name, func(c rune) bool {
		return unicode.IsSpace(c) || !unicode.IsPrint(c) || c == unicode.ReplacementChar
	})
}

// toolNames returns what is declared, each name once, in order.
func toolNames(ds []declaration) (out []string) {
	for d := range firsts(ds) {
		out = append(out, d.name)
	}
	return out
}

// raws returns the entries as they were written, each name once, in order.
func raws(ds []declaration) (out []any) {
	for d := range firsts(ds) {
		out = append(out, d.raw)
	}
	return out
}

// firsts are the declarations without those whose name came before.
func firsts(ds []declaration) iter.Seq[declaration] {
	return func(yield func(declaration) bool) {
		seen := make(map[string]bool, len(ds))
		for _, d := range ds {
			if !seen[d.name] && !yield(d) {
				return
			}
			seen[d.name] = true
		}
	}
}
