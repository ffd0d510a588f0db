package config

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// Show writes c as a configuration file, with the origin of each value as a comment.
func Show(w io.Writer, c *Config, src Source) error {
	p := printer{src: src}
	for _, f := range fields() {
		p.field(f.key, f.place(c))
	}
	_, err := w.Write(p.out.Bytes())
	return err
}

type printer struct {
	src  Source
	out  bytes.Buffer
	last []string // the sections that are open
}

func (p *printer) field(key string, place any) {
	switch v := place.(type) {
	case *map[string]string:
		p.texts(key, *v)
	case *Secrets:
		p.texts(key, *v)
	case *Logins:
		p.line(key, showLogins(*v))
	case *map[string]MCPServer:
		entries(p, key, *v, serverParts)
	case *map[string]Tenant:
		entries(p, key, *v, tenantParts)
	case *[]llm.Provider:
		p.line(key, flows(*v, providerParts))
	default:
		p.line(key, show(place))
	}
}

func (p *printer) texts(key string, m map[string]string) {
	if len(m) == 0 {
		p.line(key, "{}")
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		p.line(key+"."+k, scalar(m[k]))
	}
}

// entries writes a mapping of mappings.
func entries[T any](p *printer, key string, all map[string]T, parts func(*T) []part) {
	if len(all) == 0 {
		p.line(key, "{}")
	}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		one := all[k]
		p.line(key+"."+k, flow(parts(&one)))
	}
}

// line writes one value, after the headings of sections that it opens.
func (p *printer) line(key, value string) {
	path := strings.Split(key, ".")
	name, sections := path[len(path)-1], path[:len(path)-1]
	same := 0
	for same < min(len(sections), len(p.last)) && sections[same] == p.last[same] {
		same++
	}
	for i := same; i < len(sections); i++ {
		fmt.Fprintf(&p.out, "%s%s:\n", strings.Repeat("  ", i), sections[i])
	}
	p.last = sections
	fmt.Fprintf(&p.out, "%s%s: %s  # %s\n", strings.Repeat("  ", len(sections)), name, value, p.src.text(key))
}

func show(place any) string {
	switch p := place.(type) {
	case *string:
		return scalar(*p)
	case *images.PullPolicy:
		return scalar(string(*p))
	case *policies.Network:
		return showNetwork(*p)
	case *[]string:
		quoted := make([]string, len(*p))
		for i, s := range *p {
			quoted[i] = scalar(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case *bool:
		return fmt.Sprint(*p)
	case *int:
		return fmt.Sprint(*p)
	case *int64:
		return fmt.Sprint(*p)
	case *float64:
		return fmt.Sprint(*p)
	}
	return fmt.Sprint(place) // quantities print themselves
}

// scalar quotes s where YAML would read it as something else.
func scalar(s string) string {
	b, err := yaml.MarshalWithOptions([]string{s}, yaml.Flow(true))
	if err != nil {
		return fmt.Sprintf("%q", s)
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(b)), "["), "]")
}
