package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/engine"
	"pgregory.net/rapid"
)

// What a model answers, and what a provider complains, is taken as it comes.
func TestAnyAnswer(t *testing.T) {
	s, err := compileShape(json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},"l":{"type":"array","items":{"$ref":"#"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	pieces := []string{`{"n":1}`, "```json\n", "```", `{"n":1,"l":[{}]}`, `so `, `{"n":"x"}`, "[", "]", "}", `{"error":`, `{"message":"m","code":3}`, `"text"`, "---\n", "name: x\n", "\r\n", "é", "\xff", `\u0000`}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.String()), 0, 8).Draw(t, "text"), "")
		data, faults := s.fit(text)
		if (data == nil) == (len(faults) == 0) || data != nil && !json.Valid(data) || len(faults) > maxViolations+1 {
			t.Errorf("%q: %s, %q", text, data, faults)
		}
		for _, status := range []int{0, 200, 401, 403, 429, 500} {
			if r := refusal(status, text); r.Code == "" || len(r.Message) > 400 || strings.ContainsAny(r.Message, "\n\r") {
				t.Errorf("%d %q: %+v", status, text, r)
			}
		}
		if b := body(text); len(b) > len(text) {
			t.Errorf("%q: body %q", text, b)
		}
		if got := engine.Clip(text, 10); len(got) > 10 {
			t.Errorf("clipped %q", got)
		}
	})
}
