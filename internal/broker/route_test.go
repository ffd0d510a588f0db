package broker

import (
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// Where the path alone would be granted, the refusal says what else is wrong.
func TestWhatIsWrongWithAnAddress(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	_, c := r.grant(askFor(policies.LLM{}))
	for _, path := range []string{"/v1/chat/completions?api-version=1", "/v1/%63hat/completions"} {
		if got := r.do(c, post(t, path, chatBody)); got.status != 403 || !strings.Contains(got.body, path+" is not granted as it is written: expected a path without escapes and without a query") {
			t.Errorf("%s: got %+v", path, got)
		}
	}
}
