package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// part ties a key of an entry (of a list of mappings, or of a mapping of mappings) to its place. The place is what a
// [field]'s can be, a *llm.Money, a *[]llm.Price, or the []part of a mapping within.
type part struct {
	key   string
	place any
}

func providerParts(p *llm.Provider) []part {
	return []part{
		{"name", &p.Name}, {"kind", (*string)(&p.Kind)}, {"base_url", &p.BaseURL}, {"credential", &p.Credential},
		{"models", &p.Models}, {"model", &p.Model}, {"prices", &p.Prices}, {"limits", limitParts(&p.Limits)},
		{"skills", &p.Skills},
	}
}

func priceParts(p *llm.Price) []part {
	return []part{{"models", &p.Models}, {"input", &p.Input}, {"output", &p.Output}}
}

func limitParts(l *llm.Limits) []part {
	return []part{
		{"requests", &l.Requests}, {"tokens", &l.Tokens}, {"bytes", (*policies.Bytes)(&l.Bytes)}, {"cost", &l.Cost},
		{"concurrency", &l.Concurrency},
	}
}

func serverParts(m *MCPServer) []part {
	return []part{
		{"command", &m.Command}, {"url", &m.URL}, {"env", &m.Env}, {"headers", &m.Headers}, {"tools", &m.Tools},
		{"read_only", &m.ReadOnly}, {"timeout", &m.Timeout}, {"skills", &m.Skills}, {"recommends", &m.Recommends},
	}
}

// each reads a list of mappings.
func each[T any](r *reader, key string, n ast.Node, parts func(*T) []part) []T {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fault(key, "expected a list of mappings, not "+kindOf(n), n)
		return nil
	}
	list := make([]T, len(seq.Values))
	for i, v := range seq.Values {
		r.entry(fmt.Sprintf("%s[%d]", key, i), v, parts(&list[i]))
	}
	return list
}

// named reads a mapping of mappings.
func named[T any](r *reader, key string, n ast.Node, parts func(*T) []part) map[string]T {
	all := map[string]T{}
	r.pairs(key, n, func(name string, k ast.MapKeyNode, v ast.Node) {
		var one T
		r.entry(join(key, name), v, parts(&one))
		all[name] = one
	})
	return all
}

// pairs visits a mapping; a section with nothing in it is empty.
func (r *reader) pairs(key string, n ast.Node, visit func(name string, k ast.MapKeyNode, v ast.Node)) {
	if n.Type() == ast.NullType || n.Type() == ast.CommentType {
		return
	}
	m, ok := n.(ast.MapNode)
	if !ok {
		r.fault(key, "expected a mapping, not "+kindOf(n), n)
		return
	}
	for it := m.MapRange(); it.Next(); {
		name, ok := keyName(it.Key())
		if !ok {
			r.fault(key, "expected a plain name as key", it.Key())
			continue
		}
		visit(name, it.Key(), it.Value())
	}
}

// entry reads one mapping into its parts.
func (r *reader) entry(key string, n ast.Node, parts []part) {
	r.layer.origins[key] = r.origin(n)
	r.pairs(key, n, func(name string, k ast.MapKeyNode, v ast.Node) {
		child := join(key, name)
		i := slices.IndexFunc(parts, func(p part) bool { return p.key == name })
		if i < 0 {
			r.fault(child, otherKey(name, parts), k)
			return
		}
		r.layer.origins[child] = r.origin(v)
		r.part(child, parts[i].place, v)
	})
}

func (r *reader) part(key string, place any, n ast.Node) {
	switch p := place.(type) {
	case []part:
		r.entry(key, n, p)
	case *[]llm.Price:
		*p = each(r, key, n, priceParts)
	case *map[string]string:
		*p = r.references(key, n)
	default:
		raw, ok := r.value(place, key, n)
		if !ok {
			return
		}
		if err := decode(place, raw); err != nil {
			r.fault(key, err.Error(), n)
		}
	}
}

// references reads a mapping of texts, which are checked with the rest of the configuration.
func (r *reader) references(key string, n ast.Node) map[string]string {
	all := map[string]string{}
	r.pairs(key, n, func(name string, _ ast.MapKeyNode, v ast.Node) {
		child, place := join(key, name), ""
		r.layer.origins[child] = r.origin(v)
		r.part(child, &place, v)
		all[name] = place
	})
	return all
}

func otherKey(name string, parts []part) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.key
	}
	if near := nearest(name, names); near != "" {
		return "unknown key, did you mean " + near + "?"
	}
	return "unknown key, expected one of " + strings.Join(names, ", ")
}
