package a2e

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The wire examples of S1, verbatim.
var wireExamples = map[string]string{
	"discover request":  `{"type":"skill/discover/req","id":"sd1","version":"1.0","ts":1716123456.789,"filter_tags":["coding"],"filter_categories":[]}`,
	"discover response": `{"type":"skill/discover/resp","id":"sd2","version":"1.0","ts":1716123456.900,"req_id":"sd1","skills":[{"name":"code_review","version":"1.0.0","description":"Review code for quality and security","triggers":["review code","code review"],"tools":null,"toolkits":null,"status":"Published","input_schema":{"type":"object","properties":{"code":{"type":"string"}},"required":["code"]},"output_schema":{},"instructions":"Review the provided code...","when_to_use":"Use when code needs quality review","argument_hint":"Provide the code to review","source":"system","category":"development","tags":["coding","review"],"max_turns":10,"timeout_seconds":120}]}`,
	"call request":      `{"type":"skill/call/req","id":"sc1","version":"1.0","ts":1716123457.100,"name":"code_review","arguments":{"code":"def add(a, b): return a + b"},"correlation_id":"","timeout":60,"streaming":true,"llm_override":null,"metadata":{}}`,
	"event":             `{"type":"skill/event","id":"se1","version":"1.0","ts":1716123457.200,"kind":"progress","req_id":"sc1","data":{"pct":30,"message":"Analyzing code structure..."},"seq":0}`,
	"call response":     `{"type":"skill/call/resp","id":"sc2","version":"1.0","ts":1716123458.500,"req_id":"sc1","name":"code_review","data":{"success":true,"data":{"issues":[]},"summary":"No issues found","duration_ms":1400},"created_at":1716123458.500}`,
}

func TestWireExamplesKeepTheirFieldsAndOrder(t *testing.T) {
	for name, example := range wireExamples {
		t.Run(name, func(t *testing.T) {
			m, err := NewDecoder(strings.NewReader(example+"\r\n"), 0).Decode()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := NewEncoder(&out).Encode(m); err != nil {
				t.Fatal(err)
			}
			// The example's definition leaves the optional arguments out; ours says null (protocols §1.5.1).
			got := strings.Replace(out.String(), `"arguments":null,`, "", 1)
			if diff := cmp.Diff(outline(t, example), outline(t, got)); diff != "" {
				t.Errorf("fields differ (-example +got):\n%s", diff)
			}
			var want, have any
			if json.Unmarshal([]byte(example), &want) != nil || json.Unmarshal([]byte(got), &have) != nil {
				t.Fatal("not JSON")
			}
			// The keys inside event data and call arguments are the skill's and come out sorted.
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("values differ (-example +got):\n%s", diff)
			}
		})
	}
}

// outline lists the message's own keys and those of its structs in the order in which they stand.
func outline(t *testing.T, line string) []string {
	t.Helper()
	var keys []string
	dec := json.NewDecoder(strings.NewReader(line))
	var walk func(prefix string, free bool)
	walk = func(prefix string, free bool) {
		tok, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch tok {
		case json.Delim('{'):
			for dec.More() {
				key, err := dec.Token()
				if err != nil {
					t.Fatal(err)
				}
				path := prefix + "." + key.(string)
				if !free {
					keys = append(keys, path)
				}
				walk(path, free || path == ".arguments" || path == ".data" && strings.Contains(line, TypeEvent))
			}
			_, _ = dec.Token()
		case json.Delim('['):
			for dec.More() {
				walk(prefix+"[]", free)
			}
			_, _ = dec.Token()
		}
	}
	walk("", false)
	return keys
}
