package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const argSchema = `{"type":"object","properties":{
	"n":{"type":"integer"},"f":{"type":"number"},"b":{"type":"boolean"},"l":{"type":"array"},"o":{"type":"object"},
	"s":{"type":"string"},"either":{"type":["string","integer"]},"maybe":{"type":["integer","null"]},"odd":{"type":7}}}`

func TestArguments(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	code, object, latin := write("code.py", "x = 1\n"), write("o.json", `{"a":1}`), write("latin1", "gr\xfcn")
	huge := write("huge", strings.Repeat("x", maxArgument+1))
	n := func(s string) json.Number { return json.Number(s) }
	for _, tt := range []struct {
		name, all, stdin string
		each             []string
		want             map[string]any
		err              string
	}{
		{name: "none", want: map[string]any{}},
		{name: "text", each: []string{"s=a=b"}, want: map[string]any{"s": "a=b"}},
		{name: "empty text", each: []string{"s="}, want: map[string]any{"s": ""}},
		{name: "file", each: []string{"code=@" + code}, want: map[string]any{"code": "x = 1\n"}},
		{name: "stdin", each: []string{"code=@-"}, stdin: "in", want: map[string]any{"code": "in"}},
		{name: "literal at", each: []string{"s=@@home"}, want: map[string]any{"s": "@home"}},
		{name: "typed", each: []string{`x:={"a":[1,null]}`}, want: map[string]any{"x": map[string]any{"a": []any{n("1"), nil}}}},
		{name: "typed file", each: []string{"x:=@" + object}, want: map[string]any{"x": map[string]any{"a": n("1")}}},
		{name: "long number", each: []string{"x:=12345678901234567890"}, want: map[string]any{"x": n("12345678901234567890")}},
		{
			name: "converted", each: []string{"n=3", "f=2.5", "b=true", "l=[1]", `o={"k":"v"}`},
			want: map[string]any{"n": n("3"), "f": n("2.5"), "b": true, "l": []any{n("1")}, "o": map[string]any{"k": "v"}},
		},
		{
			name: "not converted", each: []string{"n=3.5", "f=many", "b=yes", "l={}", "s=3", "either=3", "odd=3", "other=3"},
			want: map[string]any{"n": "3.5", "f": "many", "b": "yes", "l": "{}", "s": "3", "either": "3", "odd": "3", "other": "3"},
		},
		{name: "null", each: []string{"maybe=null"}, want: map[string]any{"maybe": nil}},
		{name: "args", all: `{"s":"x","n":1}`, each: []string{"n=2"}, want: map[string]any{"s": "x", "n": n("2")}},
		{name: "args from file", all: "@" + object, want: map[string]any{"a": n("1")}},
		{name: "args from stdin", all: "-", stdin: `{"a":true}`, want: map[string]any{"a": true}},

		{name: "no equals", each: []string{"code"}, err: `--arg "code": expected key=text, key=@file or key:=JSON`},
		{name: "no key", each: []string{"=x"}, err: "expected key=text"},
		{name: "no key but a colon", each: []string{":=1"}, err: "expected key=text"},
		{name: "hostile", each: []string{"\x1b[31mred"}, err: `--arg "red": expected`},
		{name: "bad JSON", each: []string{"n:=[1"}, err: "--arg n: expected JSON after := : the JSON text ends too early"},
		{name: "two values", each: []string{"n:=1 2"}, err: "there is text after the JSON value"},
		{name: "twice", each: []string{"n=1", "n:=2"}, err: "--arg n is given twice"},
		{name: "no such file", each: []string{"c=@" + dir + "/no.py"}, err: "no.py: no such file or directory"},
		{name: "no file name", each: []string{"c=@"}, err: "--arg c: expected a file name after @"},
		{name: "a folder", each: []string{"c=@" + dir}, err: "is a directory"},
		{name: "not text", each: []string{"c=@" + latin}, err: "not UTF-8 text: hand it in with --input"},
		{name: "not text inline", each: []string{"c=\xff"}, err: "--arg c: the value is not UTF-8"},
		{name: "too long", each: []string{"c=@" + huge}, err: "more than 8 MiB: hand it in with --input"},
		{name: "stdin twice", all: "-", stdin: "{}", each: []string{"c=@-"}, err: "standard input is read already"},
		{name: "args not an object", all: "[1]", err: "--args: expected a JSON object, got an array"},
		{name: "args not JSON", all: "{a:1}", err: "--args: expected a JSON object, @file or -: invalid character 'a'"},
		{name: "args empty stdin", all: "-", err: "the JSON text ends too early"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := argReader{stdin: strings.NewReader(tt.stdin)}
			got, err := r.read(tt.all, tt.each, json.RawMessage(argSchema))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error = %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzArguments(f *testing.F) {
	f.Add("n=1", `{"a":1}`)
	f.Add("n:=[", "")
	f.Add("\xff=@@", "null")
	f.Fuzz(func(t *testing.T, each, all string) {
		if strings.Contains(each, "=@") || strings.HasPrefix(all, "@") {
			return // reads files
		}
		r := argReader{stdin: strings.NewReader("{}")}
		args, err := r.read(all, []string{each}, json.RawMessage(argSchema))
		if err != nil {
			return
		}
		if _, err := json.Marshal(args); err != nil {
			t.Fatalf("arguments without a JSON form: %v", err)
		}
	})
}
