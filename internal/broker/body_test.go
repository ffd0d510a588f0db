package broker

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/llm"
)

// What goes to the provider is what was checked, in whatever way another reader takes JSON, and the order of what is within
// stays: schemas depend on it.
func TestTheBodyStaysWhatItIs(t *testing.T) {
	rt := &routes(llm.OpenAI)[0]
	const body = ` {"tools":[{"type":"function","function":{"parameters":{"z":1,"a":2.50,"b":1e400}}}],"model":"small","messages":[{"content":"<&> é \u0000"}]} `
	q, refused := parseRequest([]byte(body), rt)
	if refused != nil {
		t.Fatal(refused.why)
	}
	got, refused := q.bytes(rt)
	const want = `{"messages":[{"content":"<&> é \u0000"}],"model":"small","tools":[{"type":"function","function":{"parameters":{"z":1,"a":2.50,"b":1e400}}}]}`
	if refused != nil || string(got) != want {
		t.Errorf("got %s", got)
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{
		chatBody, `{"model":"a","model":"b"}`, `{"Model":"b"}`, `{"model":"a","n":2,"max_tokens":3,"stream":true}`, `[]`, `{"model":1}`, "\xff",
		`{"model":"a","stream":true,"stream_options":{"a":1}}`, `{"model":"a","messages":[{"content":[{"image_url":{"url":"data:x"}}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	rt := &routes(llm.OpenAI)[0]
	f.Fuzz(func(t *testing.T, data []byte) {
		q, refused := parseRequest(data, rt)
		if refused != nil {
			if refused.status != 400 || refused.why == "" || strings.ContainsAny(refused.why, "\n\x1b") {
				t.Errorf("refusal %+v", refused)
			}
			return
		}
		out, refused := q.bytes(rt)
		if refused != nil {
			return
		}
		var first, again map[string]any
		if json.Unmarshal(out, &again) != nil || strict(out) != nil || again["model"] != q.model {
			t.Fatalf("%s became %s", data, out)
		}
		_ = json.Unmarshal(data, &first) // it was checked
		if q.stream && again["stream_options"].(map[string]any)["include_usage"] != true {
			t.Errorf("%s became %s", data, out)
		}
		for key := range first {
			if _, ok := again[key]; !ok {
				t.Errorf("%q is lost", key)
			}
		}
	})
}
