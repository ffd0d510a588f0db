package llm

import "strings"

// firstName is the first that is no pattern.
func firstName(patterns []string) string {
	for _, p := range patterns {
		if !strings.Contains(p, "*") {
			return p
		}
	}
	return ""
}
