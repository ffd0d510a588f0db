package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestBlock(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "hello", "hello"},
		{"colour", "\x1b[31mred\x1b[0m", "red"},
		{"cursor and clear", "a\x1b[2J\x1b[1;1Hb", "ab"},
		{"8-bit control sequence", "a\u009b31mb", "ab"},
		{"window title", "\x1b]0;owned\x07x", "x"},
		{"hyperlink", "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "click"},
		{"clipboard", "\x1b]52;c;cm0gLXJm\x07x", "x"},
		{"8-bit string", "\u009d0;t\u009cx", "x"},
		{"unterminated string", "\x1b]0;owned", "0;owned"},
		{"nested", "\x1b\x1b[31m[31mred", "[31mred"},
		{"reset", "\x1bcx", "x"},
		{"bell and backspace", "a\x07\b\x7fb", "ab"},
		{"bidi override", "a\u202eb\u2066c", "abc"},
		{"zero width", "a\u200b\ufeffb", "ab"},
		{"carriage return", "10%\r20%\r\nend", "10%\n20%\nend"},
		{"tab", "a\tb", "a    b"},
		{"bad UTF-8", "a\xff\xfeb", "a\uFFFDb"},
		{"letters of the world", "grün 日本 ✓", "grün 日本 ✓"},
		{"trailing line feeds", "a\n\n", "a"},
		{"cut", strings.Repeat("x", 2000), strings.Repeat("x", 1000) + "…"},
	} {
		if got := block(tt.in, 1000); got != tt.want {
			t.Errorf("%s: block(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
	if got := oneLine(" a\n\tb\r\nc ", 100); got != "a b c" {
		t.Errorf("oneLine = %q, want %q", got, "a b c")
	}
}

func TestBlockIsLinear(t *testing.T) {
	start := time.Now()
	if got := block("\u009d"+strings.Repeat("\u009b31m", 40_000), maxShown); got != "" {
		t.Errorf("%d bytes are left", len(got))
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("200 KiB took %v", d)
	}
}

func TestSafeJSONKeepsTheValue(t *testing.T) {
	value := map[string]any{"a": "x\u202e\u009b31m\U000E0041\u2028y", "b": "grün"}
	text := compact(value)
	safe := safeJSON(text)
	if strings.IndexFunc(safe, unsafeRune) >= 0 {
		t.Errorf("safeJSON left something: %q", safe)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(safe), &got); err != nil {
		t.Fatal(err)
	}
	if got["a"] != value["a"] || got["b"] != value["b"] {
		t.Errorf("the value changed: %q", got)
	}
}

func FuzzBlock(f *testing.F) {
	for _, s := range []string{"\x1b[31m", "\x1b]0;x\x07", "\u009b2J", "a\u202eb", "\xc2", "\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := block(s, 500)
		if !utf8.ValidString(got) {
			t.Fatalf("not UTF-8: %q", got)
		}
		for _, r := range got {
			if r != '\n' && !unicode.IsGraphic(r) {
				t.Fatalf("%U is left of %q", r, s)
			}
		}
		if line := oneLine(s, 500); strings.ContainsAny(line, "\n\r") {
			t.Fatalf("more than one line: %q", line)
		}
	})
}
