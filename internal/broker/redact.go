package broker

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// keyForms are the spellings of a key that are looked for: plain, escaped for JSON and for URLs, and base64 wherever in a
// longer text it stands.
func keyForms(key string) [][]byte {
	if key == "" {
		return nil
	}
	forms := [][]byte{[]byte(key), []byte(url.QueryEscape(key)), []byte(url.PathEscape(key))}
	if quoted, err := json.Marshal(key); err == nil {
		forms = append(forms, quoted[1:len(quoted)-1])
	}
	for _, also := range []string{"", "/", `<>&'"+` + "`"} { // as PHP and .NET write JSON
		for _, hex := range []string{`\u%04x`, `\u%04X`} {
			forms = append(forms, inJSON(key, also, hex))
		}
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			forms = append(forms, inBase64(enc, key, before))
		}
	}
	slices.SortFunc(forms, func(a, b []byte) int { return cmp.Or(len(b)-len(a), bytes.Compare(a, b)) })
	forms = slices.CompactFunc(forms, bytes.Equal)
	return slices.DeleteFunc(forms, func(f []byte) bool { return len(f) < 8 })
}

// inJSON is a key as JSON whose writer escapes more than it must.
func inJSON(key, also, hex string) []byte {
	var b []byte
	for _, c := range []byte(key) {
		switch {
		case c == '\\', c == '"' && !strings.Contains(also, `"`), c == '/' && strings.Contains(also, "/"):
			b = append(b, '\\', c)
		case strings.IndexByte(also, c) >= 0:
			b = fmt.Appendf(b, hex, c)
		default:
			b = append(b, c)
		}
	}
	return b
}

// inBase64 is what a key always becomes where so many bytes, modulo three, stand before it.
func inBase64(enc *base64.Encoding, key string, before int) []byte {
	text := enc.EncodeToString(append(make([]byte, before), key...))
	start := []int{0, 2, 3}[before]
	return []byte(text[start : (before+len(key))*8/6])
}

// redactor passes on what is written to it without the forms of a key, also where writes split one.
type redactor struct {
	w     io.Writer
	forms [][]byte
	held  []byte // what may be the beginning of one
}

// Write implements io.Writer.
func (r *redactor) Write(p []byte) (int, error) {
	if len(r.forms) == 0 {
		return r.w.Write(p)
	}
	text := redact(append(r.held, p...), r.forms)
	keep := beginning(text, r.forms)
	r.held = slices.Clone(text[len(text)-keep:])
	if _, err := r.w.Write(text[:len(text)-keep]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes what turned out to be no key.
func (r *redactor) flush() error {
	held := r.held
	r.held = nil
	if len(held) == 0 {
		return nil
	}
	_, err := r.w.Write(held)
	return err
}

// redact replaces every form of a key.
func redact(text []byte, forms [][]byte) []byte {
	for _, f := range forms {
		if bytes.Contains(text, f) {
			text = bytes.ReplaceAll(text, f, []byte(redacted))
		}
	}
	return text
}

// beginning is the length of the longest end of text with which a form begins.
func beginning(text []byte, forms [][]byte) int {
	longest := 0
	for _, f := range forms {
		for n := min(len(f)-1, len(text)); n > longest; n-- {
			if text[len(text)-n] == f[0] && bytes.HasSuffix(text, f[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// keyLike is what a provider might say of a key in an error, cut short or starred.
var keyLike = regexp.MustCompile(`\b(sk|key|pk|rk|gsk|xai)-[A-Za-z0-9_*.…-]{4,}`)

// redactError also takes out what only looks like a key: errors have no other use for such words.
func redactError(text []byte, forms [][]byte) []byte {
	return keyLike.ReplaceAll(redact(text, forms), []byte(redacted))
}
