package integration

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

// needles are the forms in which a value is looked for. Each is a part of the form that no other text has, and that does not
// depend on what stands around the value.
func needles(value string) map[string]string {
	all := map[string]string{
		"plain": value, "hexadecimal": hex.EncodeToString([]byte(value)),
		"upper-case hexadecimal": strings.ToUpper(hex.EncodeToString([]byte(value))), "a URL": url.QueryEscape(value),
		"UTF-16": strings.Join(strings.Split(value, ""), "\x00"),
	}
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
		all["base64 + "+string(rune('0'+before))] = text[4 : len(text)-4]
	}
	return all
}

func decoded(t *testing.T, chunk any) []byte {
	t.Helper()
	text, _ := chunk.(string)
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
