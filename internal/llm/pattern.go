package llm

import "strings"

// Match reports whether a pattern stands for a name; * is any text, and everything else is itself.
func Match(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if Match(p, name) {
			return true
		}
	}
	return false
}

// firstName is the first that is no pattern.
func firstName(patterns []string) string {
	for _, p := range patterns {
		if !strings.Contains(p, "*") {
			return p
		}
	}
	return ""
}
