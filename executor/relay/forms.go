package relay

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	leastValue = 8   // bytes of a value; a shorter one is found in too much that holds no secret
	mostBlock  = 128 // bytes of a pattern; a longer one becomes several, so that no text makes comparing slow
)

// patterns returns what stands for a value in a text: each of its lines as it is and as JSON writes it, and the whole of it
// in base64 at any offset, in hexadecimal and as in a URL. It holds no line feeds: the matcher doesn't see those.
func patterns(value []byte) [][]byte {
	forms := append([]string{hex.EncodeToString(value)}, base64Forms(value)...)
	forms = append(forms, strings.ToUpper(forms[0]))
	forms = append(forms, urlForms(value)...)
	forms = append(forms, strings.NewReplacer("\n", "", "\r", "").Replace(string(value)))
	for line := range bytes.Lines(value) {
		line = bytes.TrimSpace(line)
		forms = append(append(forms, string(line)), jsonForms(string(line))...)
	}
	var out [][]byte
	for _, form := range forms {
		if len(form) >= leastValue {
			out = append(out, blocks([]byte(form))...)
		}
	}
	return out
}

// blocks cuts a pattern into pieces of about the same length, none longer than mostBlock.
func blocks(form []byte) (out [][]byte) {
	n := (len(form) + mostBlock - 1) / mostBlock
	for i := range n {
		out = append(out, form[i*len(form)/n:(i+1)*len(form)/n])
	}
	return out
}

// base64Forms returns what of a value's base64 does not depend on what stands before and behind it, for the three ways in
// which its bytes can fall into groups, in both alphabets.
func base64Forms(value []byte) (out []string) {
	for before := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before, before+len(value)), value...))
		text = text[(before*8+5)/6 : (before+len(value))*8/6]
		out = append(out, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
	}
	return out
}

// urlForms escapes as the usual libraries do, which differ in what they leave alone.
func urlForms(value []byte) (out []string) {
	const mark = "-_.~"
	for _, safe := range []string{mark, mark + "/", mark + "!'()*", mark + "$&+:=@", mark + "!'()*;,/?:@&=+$#", "-_.*"} {
		for _, format := range []string{"%%%02X", "%%%02x"} {
			text := escaped(value, safe, format)
			out = append(out, text, strings.ReplaceAll(text, "%20", "+"))
		}
	}
	return out
}

func escaped(value []byte, safe, format string) string {
	var b strings.Builder
	for _, c := range value {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(safe, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, format, c)
		}
	}
	return b.String()
}

// jsonForms escapes as the usual encoders do: all of them what must be, some of them what need not be.
func jsonForms(line string) (out []string) {
	for _, also := range []string{"", "/", "<>&", "<>&'"} {
		for _, ascii := range []bool{false, true} {
			out = append(out, jsonEscaped(line, also, ascii))
		}
	}
	return out
}

func jsonEscaped(line, also string, ascii bool) string {
	var b strings.Builder
	for _, c := range line {
		switch {
		case c == '"' || c == '\\' || c == '/' && strings.Contains(also, "/"):
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || strings.ContainsRune(also, c) || ascii && c >= 0x7f && c <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, c)
		case ascii && c > 0xffff:
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		case c == utf8.RuneError:
			b.WriteString("\uFFFD")
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
