package a2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// FuzzDecoder feeds streams. Whatever comes, the decoder ends, its errors have a code and bounded text, and what it
// takes can be written and read again as the same line.
func FuzzDecoder(f *testing.F) {
	for _, example := range wireExamples {
		f.Add([]byte(example + "\n"))
	}
	for _, seed := range []string{
		"", "\n\r\n", "{}\n[]\nnull\n", `{"type":"ping","type":"pong"}`, call(`"timeout":"60","arguments":{"a":[1,{"b":"\ud800"}]}`),
		`{"type":"handshake/req","agent_caps":["skills"],"a2e":"1.0"}` + "\n" + `{"type":"shutdown","timeout":1e9}`,
		`{"type":"error","code":"x","detail":{}}`, call(`"llm_override":{"provider_config":false}`), "{\"type\":\"\xff\"}",
		`{"type":"skill/discover/resp","skills":[{"arguments":{},"llm_config":{"provider_config":false}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 4 << 10
		d := NewDecoder(bytes.NewReader(stream), limit)
		for range bytes.Count(stream, []byte("\n")) + 2 {
			m, err := d.Decode()
			var de *DecodeError
			switch {
			case errors.Is(err, io.EOF):
				return
			case errors.As(err, &de):
				if de.Err.Code == "" || len(de.Err.Message) > 1000 || len(de.ReqID) > MaxID || len(de.Name) > MaxName {
					t.Fatalf("unbounded or without a code: %+v", de)
				}
			case err != nil:
				t.Fatal(err)
			default:
				stable(t, m)
			}
		}
		t.Fatal("the decoder does not end")
	})
}

func stable(t *testing.T, m Message) {
	t.Helper()
	m.header().TS = 1 // zero would be filled in, with another time each time
	var first, second bytes.Buffer
	if err := NewEncoder(&first).Encode(m); err != nil {
		t.Fatalf("encode %+v: %v", m, err)
	}
	again, err := Parse(bytes.TrimSpace(first.Bytes()))
	if err != nil {
		t.Fatalf("read our own line %s: %v", first.Bytes(), err)
	}
	if err := NewEncoder(&second).Encode(again); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Fatalf("not stable:\n%s%s", first.Bytes(), second.Bytes())
	}
}

func TestCallRequestsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &CallRequest{
			Header:        Header{Type: TypeCallRequest, ID: word(t, "id"), Version: "1.0", TS: float64(rapid.IntRange(1, 1<<40).Draw(t, "ts")) / 1024},
			Name:          word(t, "name"),
			Arguments:     anyObject(t, 3),
			CorrelationID: word(t, "correlation"),
			Metadata:      anyObject(t, 1),
		}
		if rapid.Bool().Draw(t, "has timeout") {
			want.Timeout = ptr(rapid.IntRange(1, 1<<31-1).Draw(t, "timeout"))
		}
		if rapid.Bool().Draw(t, "has streaming") {
			want.Streaming = ptr(rapid.Bool().Draw(t, "streaming"))
		}
		var line bytes.Buffer
		if err := NewEncoder(&line).Encode(want); err != nil {
			t.Fatal(err)
		}
		got, err := NewDecoder(&line, 0).Decode()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Message(want), got); diff != "" {
			t.Fatalf("(-sent +received):\n%s", diff)
		}
		if got.(*CallRequest).Digest() != want.Digest() {
			t.Fatal("the digest changed")
		}
	})
}

func word(t *rapid.T, label string) string {
	return rapid.StringMatching(`[a-zA-Z0-9_<&> éß-]{1,20}`).Draw(t, label)
}

func anyObject(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for i := range rapid.IntRange(0, 4).Draw(t, "keys") {
		m[fmt.Sprint(i, rapid.String().Draw(t, "key"))] = anyValue(t, depth)
	}
	return m
}

func anyValue(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2:
		return json.Number(rapid.StringMatching(`-?[1-9][0-9]{0,30}(\.[0-9]{1,20})?(e[0-9]{1,3})?`).Draw(t, "number"))
	case kind == 3 && depth > 0:
		return anyObject(t, depth-1)
	case kind == 4 && depth > 0:
		l := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			l = append(l, anyValue(t, depth-1))
		}
		return l
	}
	return strings.ToValidUTF8(rapid.String().Draw(t, "string"), "?")
}
