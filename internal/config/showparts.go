package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/llm"
)

// flow writes an entry in one line, without what is not set: "{name: openai, kind: openai}".
func flow(parts []part) string {
	var list []string
	for _, p := range parts {
		if s := showPart(p.place); s != "" {
			list = append(list, p.key+": "+s)
		}
	}
	return "{" + strings.Join(list, ", ") + "}"
}

func showPart(place any) string {
	switch p := place.(type) {
	case []part:
		if s := flow(p); s != "{}" {
			return s
		}
		return ""
	case *[]llm.Price:
		if len(*p) == 0 {
			return ""
		}
		return flows(*p, priceParts)
	case *map[string]string:
		return showTexts(*p)
	case *[]string:
		if *p == nil {
			return ""
		}
	case *llm.Money:
		if *p == 0 {
			return ""
		}
		return p.String()
	}
	if s := show(place); s != `""` && s != "0" {
		return s
	}
	return ""
}

func showTexts(m map[string]string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+": "+scalar(m[k]))
	}
	if list == nil {
		return ""
	}
	return "{" + strings.Join(list, ", ") + "}"
}

func flows[T any](all []T, parts func(*T) []part) string {
	list := make([]string, len(all))
	for i := range all {
		list[i] = flow(parts(&all[i]))
	}
	return "[" + strings.Join(list, ", ") + "]"
}
