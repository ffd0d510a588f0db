package main

import "strings"

// maxRecent bounds how many lines are remembered: enough for any tail that a failure brings.
const maxRecent = 4 * maxTail

// recent remembers the last error lines of a skill that people have seen.
type recent struct {
	lines []string
}

func (r *recent) add(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		r.lines = append(r.lines, strings.TrimSpace(line))
	}
	if over := len(r.lines) - maxRecent; over > 0 {
		r.lines = append(r.lines[:0:0], r.lines[over:]...)
	}
}

// has reports whether the lines are the last ones that were seen. The first of several may be cut at its start, and lines
// that are blank don't count.
func (r *recent) has(lines []string) bool {
	seen := nonBlank(r.lines)
	tail := nonBlank(lines)
	if len(tail) == 0 || len(tail) > len(seen) {
		return false
	}
	seen = seen[len(seen)-len(tail):]
	for i, line := range tail {
		if line != seen[i] && (i > 0 || len(tail) == 1 || !strings.HasSuffix(seen[i], line)) {
			return false
		}
	}
	return true
}

func nonBlank(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
