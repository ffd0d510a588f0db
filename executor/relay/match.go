package relay

import (
	"bytes"
	"slices"
)

const (
	redacted = "[redacted]"
	mostGap  = 2 // bytes of a line's end that are looked over within a value

	// mostAlike is how many patterns may begin alike: more are in no value that anybody uses, and would be slow to compare.
	mostAlike = 16
)

// matcher finds many patterns in one pass: it looks at windows of as many bytes as the shortest pattern may have, and
// compares only where a pattern begins with such a one. It looks over the ends of lines, so that it finds what was broken
// into several. It does not change, and may be used by many at once.
type matcher struct {
	patterns [][]byte
	begins   map[uint64][]int // the patterns that begin with these 8 bytes
	heads    map[uint64][]int // those that begin with these fewer bytes; the number of them is in the highest byte
	filter   [1 << 10]uint64  // bits: the last two bytes of windows that begins has
}

// newMatcher returns nil where there is nothing to look for.
func newMatcher(values [][]byte) *matcher {
	m := &matcher{begins: map[uint64][]int{}, heads: map[uint64][]int{}}
	seen := map[string]bool{}
	for _, value := range values {
		if len(value) < leastValue {
			continue
		}
		for _, p := range patterns(value) {
			if !seen[string(p)] {
				seen[string(p)] = true
				m.add(p)
			}
		}
	}
	if len(m.patterns) == 0 {
		return nil
	}
	return m
}

func (m *matcher) add(p []byte) {
	var w uint64
	for _, c := range p[:leastValue] {
		w = w<<8 | uint64(c)
	}
	if len(m.begins[w]) >= mostAlike {
		return
	}
	i := len(m.patterns)
	m.patterns = append(m.patterns, p)
	m.begins[w] = append(m.begins[w], i)
	m.filter[uint16(w)>>6] |= 1 << (w & 63)
	for n := 1; n < leastValue; n++ {
		key := head(w>>(8*(leastValue-n)), n)
		m.heads[key] = append(m.heads[key], i)
	}
}

// head is the key of a pattern's first n bytes, which are the last ones of a window.
func head(window uint64, n int) uint64 {
	return window&(1<<(8*n)-1) | uint64(n)<<56
}

// span is a part of a text.
type span struct{ from, to int }

// open is a pattern that the end of a text has begun.
type open struct {
	pattern int
	matched int // bytes of it
	from    int // where it begins in that text
}

// scan returns the parts of a text that are patterns, in order, and what the text's end has begun. Where the text before
// it had begun something, that is carried on.
func (m *matcher) scan(text []byte, before []open) (found []span, begun []open) {
	for _, o := range before {
		if end, matched := m.compare(o.pattern, o.matched, text, 0); matched == len(m.patterns[o.pattern]) {
			found = append(found, span{0, end})
		} else if end == len(text) {
			begun = append(begun, open{o.pattern, matched, 0})
		}
	}
	var w uint64
	n, gap := 0, 0
	for i, c := range text {
		if c == '\n' || c == '\r' {
			if gap++; gap > mostGap {
				n = 0
			}
			continue
		}
		gap = 0
		w = w<<8 | uint64(c)
		if n++; n >= leastValue && m.filter[uint16(w)>>6]&(1<<(w&63)) != 0 {
			found, begun = m.candidates(w, text, i+1, found, begun)
		}
	}
	if gap <= mostGap {
		begun = m.ends(w, min(n, leastValue-1), text, begun)
	}
	return merged(found), begun
}

// candidates compares the patterns that begin with a window, which ends at end.
func (m *matcher) candidates(w uint64, text []byte, end int, found []span, begun []open) ([]span, []open) {
	for _, i := range m.begins[w] {
		to, matched := m.compare(i, leastValue, text, end)
		switch {
		case matched == len(m.patterns[i]):
			found = joined(found, span{back(text, end, leastValue), to})
		case to == len(text):
			begun = append(begun, open{i, matched, back(text, end, leastValue)})
		}
	}
	return found, begun
}

// ends finds the patterns of which the text's last bytes are fewer than a window has.
func (m *matcher) ends(w uint64, n int, text []byte, begun []open) []open {
	for ; n > 0; n-- {
		for _, i := range m.heads[head(w, n)] {
			begun = append(begun, open{i, n, back(text, len(text), n)})
		}
	}
	return begun
}

// compare goes on with a pattern of which some bytes have matched, from a place in the text, and returns where it stopped
// and how many have matched then. It stops at the text's end only when all of that was the pattern's.
func (m *matcher) compare(pattern, matched int, text []byte, at int) (end, total int) {
	p, gap := m.patterns[pattern], 0
	for ; matched < len(p) && at < len(text); at++ {
		switch c := text[at]; {
		case c == p[matched]:
			matched++
			gap = 0
		case (c == '\n' || c == '\r') && gap < mostGap:
			gap++
		default:
			return at, matched
		}
	}
	return at, matched
}

// joined appends a span, or makes the last one longer where they overlap.
func joined(spans []span, s span) []span {
	if n := len(spans); n > 0 && s.from >= spans[n-1].from && s.from <= spans[n-1].to {
		spans[n-1].to = max(spans[n-1].to, s.to)
		return spans
	}
	return append(spans, s)
}

// back returns where the n bytes before end begin, without those of lines' ends.
func back(text []byte, end, n int) int {
	for ; n > 0; end-- {
		if c := text[end-1]; c != '\n' && c != '\r' {
			n--
		}
	}
	return end
}

// merged joins spans that overlap or touch.
func merged(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	out := spans[:1]
	for _, s := range spans[1:] {
		out = joined(out, s)
	}
	return out
}

// without returns the text with a word in the place of each span.
func without(text []byte, spans []span) []byte {
	if len(spans) == 0 {
		return text
	}
	out, at := make([]byte, 0, len(text)), 0
	for _, s := range spans {
		out = append(append(out, text[at:s.from]...), redacted...)
		at = s.to
	}
	return append(out, text[at:]...)
}

// whole takes out what is complete.
func (m *matcher) whole(text []byte) []byte {
	found, _ := m.scan(text, nil)
	return without(text, found)
}

// piece takes out what is complete, and what the text begins or ends with of a value that was cut, where that is as long
// as the shortest value. It carries on what earlier pieces had begun.
func (m *matcher) piece(text []byte, before []open) ([]byte, []open) {
	found, begun := m.scan(text, before)
	for _, o := range begun {
		if o.matched >= leastValue {
			found = append(found, span{o.from, len(text)})
		}
	}
	return without(text, merged(found)), begun
}

// cut is piece for a text of which the beginning is missing.
func (m *matcher) cut(text []byte) []byte {
	found, begun := m.scan(text, nil)
	for _, o := range begun {
		if o.matched >= leastValue {
			found = append(found, span{o.from, len(text)})
		}
	}
	for _, p := range m.patterns {
		for i := 1; i+leastValue <= len(p); i++ {
			if bytes.HasPrefix(text, p[i:]) {
				found = append(found, span{0, len(p) - i})
				break
			}
		}
	}
	return without(text, merged(found))
}
