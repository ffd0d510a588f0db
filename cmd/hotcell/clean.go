package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

// escapes matches terminal escape sequences in their 7-bit and 8-bit forms: control sequences, strings up to their
// terminator (titles, hyperlinks, clipboard), and the short ones. A string ends where another sequence starts, or a text
// of many could make the search run to its end for each.
var escapes = regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]` +
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\x1b\x{80}-\x{9f}]*(?:\x07|\x1b\\|\x{9c})` +
	`|\x1b[ -/]*[0-~]`)

// block makes text from a skill fit for a terminal: no escape sequence, no control character but the line feed, no
// bidirectional override, nothing invisible, and at most limit bytes.
func block(s string, limit int) string {
	s, cut := shorten(s, limit)
	s = escapes.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(s)
	s = strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, s)
	s = strings.TrimRight(s, "\n ")
	if cut {
		s += "…"
	}
	return s
}

// oneLine is [block] with every run of white space made one blank.
func oneLine(s string, limit int) string {
	return strings.Join(strings.Fields(block(s, limit)), " ")
}

func shorten(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	return s[:limit], true
}

// safeJSON writes the characters of a JSON text that could steer a terminal as \u escapes: the same value, harmless to
// look at. The text's own line feeds stay.
func safeJSON(text string) string {
	if strings.IndexFunc(text, unsafeRune) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !unsafeRune(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func unsafeRune(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }
