package wall

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTypeOf(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"cell/exit"}`:                        "cell/exit",
		` {"a":[{"type":"x"}],"type" : "cell/exit" }`: "cell/exit",
		`{"\u0074ype":"cell\/exit"}`:                  "cell/exit",
		`{"type":"a","type":"b"}`:                     "",
		`{"type":"a","\u0074ype":"b"}`:                "",
		`{"type":"a","x":1,"x":2}`:                    "",
		`{"Type":"a"}`:                                "",
		`{"type":"a","Type":"b"}`:                     "a",
		`{"type":1}`:                                  "",
		`{"type":null}`:                               "",
		`{"type":"a"`:                                 "",
		`{"type":"a"} x`:                              "",
		`{"type":"a"}{}`:                              "",
		`["type","a"]`:                                "",
		`"type"`:                                      "",
		`plain text`:                                  "",
		``:                                            "",
		`{}`:                                          "",
		strings.Repeat("[", MaxLine):                  "",
		`{"a":` + strings.Repeat(`{"a":`, MaxLine/6): "",
		`{"type":"a",` + many(300) + `}`:             "",
	} {
		if got := TypeOf([]byte(line)); got != want {
			t.Errorf("TypeOf(%.60q) = %q, want %q", line, got, want)
		}
	}
}

func many(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":0`, i)
	}
	return strings.Join(keys, ",")
}

// FuzzObject compares the walker with encoding/json, and asks the guess on half a line not to harm.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{"type":"a","b":[1,{"c":"}\""}],"d":-1.5e3}`, `{"a":"\\","b":{}}`, `{ "a" : null }`, `{"":0}`, `{"a":`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		peekType(line)
		o, err := parseObject(line)
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("accepted %q: %v", line, err)
		}
		if strings.ContainsRune(string(line), '\uFFFD') || !json.Valid(line) || strings.ToValidUTF8(string(line), "") != string(line) {
			return // keys that encoding/json repairs
		}
		if len(o) != len(want) {
			t.Fatalf("%q has %d keys, want %d", line, len(o), len(want))
		}
		for _, m := range o {
			if string(want[m.key]) != string(m.raw) {
				t.Fatalf("%q: %q is %q, want %q", line, m.key, m.raw, want[m.key])
			}
		}
	})
}

func TestDecodersRoundTrip(t *testing.T) {
	yes, no := true, false
	check := func(in any, decode func([]byte) (any, error)) {
		t.Helper()
		line, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if d := cmp.Diff(in, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	check(Ready{TypeReady, 1}, func(b []byte) (any, error) { return DecodeReady(b) })
	check(File{TypeFile, "a/b.txt", 0o644, []byte("hi\x00"), true}, func(b []byte) (any, error) { return DecodeFile(b) })
	check(Lease{Type: TypeLease, Secrets: map[string]string{"API_KEY": "s3cret"}}, func(b []byte) (any, error) { return DecodeLease(b) })
	check(Event{TypeEvent, "progress", json.RawMessage(`{"pct":1}`)}, func(b []byte) (any, error) { return DecodeEvent(b) })
	check(Result{Type: TypeResult, Success: &yes, Data: json.RawMessage(`[1]`), Summary: json.RawMessage(`"s"`), Truncated: true},
		func(b []byte) (any, error) { return DecodeResult(b) })
	check(Result{Type: TypeResult, Success: &no, Error: "e", ErrorCode: "c", Retryable: &no},
		func(b []byte) (any, error) { return DecodeResult(b) })
	check(Exit{TypeExit, 3, 0, "", "tail", 1, 2, 3, -1, true, "output", true}, func(b []byte) (any, error) { return DecodeExit(b) })
}

func TestDepthIsBounded(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	line := func(n int) []byte { return []byte(`{"type":"skill/result","success":true,"data":` + nested(n) + `}`) }
	if _, err := DecodeResult(line(MaxDepth - 1)); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	if _, err := DecodeResult(line(MaxDepth)); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("beyond the bound: %v", err)
	}
	if _, err := DecodeEvent([]byte(`{"type":"skill/event","kind":"x","data":{"a":` + nested(9000) + `}}`)); err == nil {
		t.Error("a deep event passed")
	}
	if TooDeep([]byte(`{"a":"` + strings.Repeat("[", 9000) + `\"["}`)) {
		t.Error("brackets in a string count")
	}
}

func TestDecodersRefuse(t *testing.T) {
	deep := strings.Repeat("d/", 32) + "f"
	big := `{"type":"cell/file","path":"a","data":"` + strings.Repeat("AAAA", FileChunk/3+1) + `"}`
	decoders := map[string]func([]byte) error{
		"ready":  func(b []byte) error { _, err := DecodeReady(b); return err },
		"file":   func(b []byte) error { _, err := DecodeFile(b); return err },
		"lease":  func(b []byte) error { _, err := DecodeLease(b); return err },
		"event":  func(b []byte) error { _, err := DecodeEvent(b); return err },
		"result": func(b []byte) error { _, err := DecodeResult(b); return err },
		"exit":   func(b []byte) error { _, err := DecodeExit(b); return err },
	}
	for _, tt := range []struct{ kind, line, want string }{
		{"ready", `{}`, `type: expected "cell/ready"`},
		{"ready", `{"type":"cell/ready"}`, "protocol: missing"},
		{"ready", `{"type":"cell/ready","protocol":"1"}`, "protocol: expected an integer"},
		{"file", `{"type":"cell/file"}`, "path: missing"},
		{"file", `{"type":"cell/file","path":"/a"}`, "path: "},
		{"file", `{"type":"cell/file","path":"a/../b"}`, `element ".."`},
		{"file", `{"type":"cell/file","path":"a//b"}`, `element ""`},
		{"file", `{"type":"cell/file","path":"./a"}`, `element "."`},
		{"file", `{"type":"cell/file","path":"a\nb"}`, "control character"},
		{"file", `{"type":"cell/file","path":"a\u0000b"}`, "control character"},
		{"file", `{"type":"cell/file","path":""}`, "is empty"},
		{"file", `{"type":"cell/file","path":"` + deep + `"}`, "deeper than"},
		{"file", `{"type":"cell/file","path":"` + strings.Repeat("x", 1025) + `"}`, "longer than"},
		{"file", `{"type":"cell/file","path":"` + strings.Repeat("x", 256) + `"}`, "element"},
		{"file", `{"type":"cell/file","path":"a","data":"?"}`, "data: expected base64"},
		{"file", `{"type":"cell/file","path":"a","mode":-1}`, "mode: "},
		{"file", big, "at most 262144"},
		{"lease", `{"type":"cell/lease","secrets":{"../x":"v"}}`, "bad name"},
		{"lease", `{"type":"cell/lease","secrets":{".x":"v"}}`, "bad name"},
		{"lease", `{"type":"cell/lease","secrets":{"":"v"}}`, "bad name"},
		{"lease", `{"type":"cell/lease","secrets":{"x":1}}`, "secrets: expected"},
		{"event", `{"type":"skill/event","data":{}}`, "kind: missing"},
		{"event", `{"type":"skill/event","kind":"","data":{}}`, "kind: expected"},
		{"event", `{"type":"skill/event","kind":"` + strings.Repeat("k", 65) + `","data":{}}`, "kind: expected"},
		{"event", `{"type":"skill/event","kind":"log","data":[]}`, "data: expected an object"},
		{"event", `{"type":"skill/event","kind":"log","data":null}`, "data: expected an object"},
		{"event", `{"type":"skill/event","kind":"log","data":{"a":1,"a":2}}`, `data: key "a" is there twice`},
		{"event", `{"type":"skill/event","kind":"log","data":{` + manyKeys(257) + `}}`, "data: more than 256 keys"},
		{"event", `{"type":"skill/event","Kind":"log","data":{}}`, "kind: missing"},
		{"event", `{"type":"skill/result","kind":"log","data":{}}`, "type: expected"},
		{"event", `{"type":"skill/event","kind":"log","kind":"log","data":{}}`, "twice"},
		{"result", `{"type":"skill/result"}`, "success: missing"},
		{"result", `{"type":"skill/result","success":null}`, "success: missing"},
		{"result", `{"type":"skill/result","success":"yes"}`, "success: expected true or false"},
		{"result", `{"type":"skill/result","success":true,"error":{}}`, "error: expected a string"},
		{"result", `{"type":"skill/result","success":true`, "not valid JSON"},
		{"exit", `{"type":"cell/exit"}`, "exit_code: missing"},
		{"exit", `{"type":"cell/exit","exit_code":0}`, "oom_kills: missing"},
		{"exit", `{"type":"cell/exit","exit_code":256,"oom_kills":0}`, "exit_code: expected"},
		{"exit", `{"type":"cell/exit","exit_code":0,"signal":99,"oom_kills":0}`, "signal: expected"},
		{"exit", `{"type":"cell/exit","exit_code":0,"oom_kills":-2}`, "oom_kills: expected"},
		{"exit", `{"type":"cell/exit","exit_code":0,"oom_kills":1e30}`, "oom_kills: expected an integer"},
		{"exit", `{"type":"cell/exit","exit_code":0,"oom_kills":0,"user_ms":-1}`, "user_ms"},
		{"exit", `{"type":"cell/exit","exit_code":0,"oom_kills":0,"stderr_tail":"` + strings.Repeat("x", 4097) + `"}`, "stderr_tail"},
		{"exit", `[]`, "expected a JSON object"},
	} {
		err := decoders[tt.kind]([]byte(tt.line))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %.80s: error = %v, want one line with %q", tt.kind, tt.line, err, tt.want)
		}
	}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%q:%d", fmt.Sprint(i), i)
	}
	return strings.Join(keys, ",")
}

func TestEventWithoutDataHasAnEmptyObject(t *testing.T) {
	e, err := DecodeEvent([]byte(`{"type":"skill/event","kind":"status"}`))
	if err != nil || string(e.Data) != "{}" {
		t.Errorf("DecodeEvent = %s, %v", e.Data, err)
	}
}

func TestDecodedValuesOutliveTheirLine(t *testing.T) {
	line := []byte(`{"type":"skill/result","success":true,"data":"abc","summary":"def"}`)
	r, err := DecodeResult(line)
	clear(line)
	if err != nil || string(r.Data) != `"abc"` || string(r.Summary) != `"def"` {
		t.Errorf("DecodeResult = %s %s, %v", r.Data, r.Summary, err)
	}
}

func TestLeaseDoesNotPrintItsSecrets(t *testing.T) {
	l := Lease{Secrets: map[string]string{"KEY": "s3cret"}}
	for _, s := range []string{fmt.Sprint(l), fmt.Sprintf("%+v", l), fmt.Sprintf("%#v", l), fmt.Sprint(&l)} {
		if strings.Contains(s, "s3cret") {
			t.Errorf("printed %s", s)
		}
	}
}

func TestCheckPathAcceptsPlainPaths(t *testing.T) {
	elem := rapid.StringMatching(`[a-zA-Z0-9 _é…-]{1,20}(\.[a-z]{1,3})?`)
	rapid.Check(t, func(t *rapid.T) {
		p := strings.Join(rapid.SliceOfN(elem, 1, 8).Draw(t, "elems"), "/")
		if err := CheckPath(p); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"cell/file","path":"a/b","data":"AA==","final":true}`))
	f.Add([]byte(`{"type":"cell/exit","exit_code":0,"oom_kills":0}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		file, err := DecodeFile(line)
		if err == nil && (CheckPath(file.Path) != nil || len(file.Data) > FileChunk) {
			t.Fatalf("accepted the path %q", file.Path)
		}
		if e, err := DecodeEvent(line); err == nil && !json.Valid(e.Data) {
			t.Fatalf("accepted the data %q", e.Data)
		}
		if r, err := DecodeResult(line); err == nil && r.Success == nil {
			t.Fatal("accepted a result without success")
		}
		_, _ = DecodeExit(line)
		_, _ = DecodeLease(line)
		_, _ = DecodeReady(line)
	})
}
