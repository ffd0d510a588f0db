package relay

import (
	"bytes"
	"encoding/json"
	"strings"
)

// json takes values out of the strings and numbers of a JSON text, also where they are escaped in it. What comes out is
// JSON: a number that is a secret becomes a string.
func (m *matcher) json(raw []byte) []byte {
	var out []byte // stays nil until something is found
	done := 0      // bytes of raw that out has
	for i := 0; i < len(raw); {
		end := token(raw, i)
		if instead := m.token(raw[i:end]); instead != nil {
			out = append(append(out, raw[done:i]...), instead...)
			done = end
		}
		i = end
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

// token returns where the token that begins at i ends: a string, a number, or one byte of anything else.
func token(raw []byte, i int) int {
	end := i + 1
	switch c := raw[i]; {
	case c == '"':
		for ; end < len(raw); end++ {
			switch raw[end] {
			case '\\':
				end++
			case '"':
				return end + 1
			}
		}
		return len(raw)
	case isNumber(c):
		for end < len(raw) && isNumber(raw[end]) {
			end++
		}
	}
	return end
}

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// token returns what stands instead of a token, or nil where it may stay.
func (m *matcher) token(raw []byte) []byte {
	if len(raw) < leastValue {
		return nil
	}
	if raw[0] != '"' {
		if found, _ := m.scan(raw, nil); len(found) > 0 && isNumber(raw[0]) {
			return []byte(`"` + redacted + `"`)
		}
		return nil
	}
	text := raw[1 : len(raw)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return nil
		}
		text = []byte(s)
	}
	found, _ := m.scan(text, nil)
	if len(found) == 0 {
		return nil
	}
	out, _ := json.Marshal(strings.ToValidUTF8(string(without(text, found)), "\uFFFD"))
	return out
}
