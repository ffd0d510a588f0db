package wall

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var scanned = []string{
	`{}`, ` { } `, `{"a":1}`, `{"a":1,"b":[1,2,{"c":null}],"d":{"e":{}}}`, `{"a":[]}`, `{"a":[[],{}]}`, `{"a":"\"\\\/\b\f\n\r\t\u00e9"}`,
	`{"a":-0.5e+10,"b":0,"c":1E5,"d":-0,"e":10}`, `{"a":true,"b":false,"c":null}`, "{\"a\"\t:\r\n1 , \"b\" : 2}", `{"äöü":"日本語 and more than eight bytes"}`,
	`{"a":"` + strings.Repeat("x", 100) + `\u12"}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`,
	`{"a":1e}`, `{"a":+1}`, `{"a":-}`, `{"a":tru}`, `{"a":truee}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\x01\"}", "{\"a\":\"1234567\x1f\"}",
	`{"a":1}}`, `{"a":1} x`, `{"a":[1}`, `{"a":{"b":1]}`, `{"a" 1}`, `{a:1}`, `{"a":{"b"}}`, `{"a":{1:2}}`, `{"a":{"b":1,}}`, `[]`, ``, ` `, `{`, `{"`, `{"a`,
	`{"a":"`, `{"a":"\`, `{"a":"\u`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"a":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}`,
	`{"a":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`, `{"a":"[[{\"["}`, "{\"a\":\"\x7f\xff\"}", `{"a":"12345678\"9"}`,
}

// sameAsJSON checks what scan says of a text against encoding/json and against the walker that does not check.
func sameAsJSON(t *testing.T, text []byte) {
	t.Helper()
	o, deepest, err := scan(text)
	var all map[string]json.RawMessage
	isObject := len(text) > 0 && strings.HasPrefix(strings.TrimLeft(string(text), " \t\r\n"), "{")
	valid := isObject && json.Valid(text)
	if !valid {
		if err == nil {
			t.Fatalf("%.200q: accepted", text)
		}
		return
	}
	if err != nil {
		if !strings.Contains(err.Error(), "twice") && !strings.Contains(err.Error(), "keys") {
			t.Fatalf("%.200q: %v", text, err)
		}
		return
	}
	if !utf8.Valid(text) {
		return // a reader makes it valid first
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != len(o) {
		t.Fatalf("%.200q: %d members, want %d", text, len(o), len(all))
	}
	for _, m := range o {
		if string(all[m.key]) != string(m.raw) {
			t.Fatalf("%.200q: %q is %s, want %s", text, m.key, m.raw, all[m.key])
		}
	}
	if TooDeep(text) != (deepest > MaxDepth) {
		t.Fatalf("%.200q: %d levels deep, TooDeep says %v", text, deepest, TooDeep(text))
	}
}

func TestScan(t *testing.T) {
	for _, text := range scanned {
		sameAsJSON(t, []byte(text))
	}
	o, deepest, err := scan([]byte(` {"a" : [1, {}] , "b":"x"} `))
	want := object{{"a", []byte(`[1, {}]`)}, {"b", []byte(`"x"`)}}
	if err != nil || deepest != 3 || !slices.EqualFunc(o, want, func(a, b member) bool { return a.key == b.key && string(a.raw) == string(b.raw) }) {
		t.Errorf("got %q, %d, %v", o, deepest, err)
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range scanned {
		f.Add([]byte(text))
	}
	f.Fuzz(sameAsJSON)
}

// BenchmarkScan is one line of 1 KiB, and one of many short values.
func BenchmarkScan(b *testing.B) {
	for name, line := range map[string]string{
		"text":    `{"type":"skill/event","kind":"log","data":{"level":"info","message":"` + strings.Repeat("a line; ", 118) + `"}}`,
		"numbers": `{"type":"skill/event","kind":"log","data":{"list":[` + strings.Repeat("12,", 300) + `0]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			text := []byte(line)
			for b.Loop() {
				if _, _, err := scan(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
