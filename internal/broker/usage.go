package broker

import (
	"encoding/json"

	"github.com/hotcell/hotcell/internal/llm"
)

// usage is how many tokens a request used.
type usage struct {
	in, out int64
	partial bool // the provider had not said all of it yet
	guessed bool // nobody said it, or not all of it
}

// report is what answers and events of all kinds say about usage.
type report struct {
	Usage    *counts                  `json:"usage"`
	Response *struct{ Usage *counts } `json:"response"` // events of OpenAI's responses
	Message  *struct{ Usage *counts } `json:"message"`  // the first event of Anthropic's messages
	Choices  *[]json.RawMessage       `json:"choices"`
	Type     string                   `json:"type"`
}

// counts has the words of both vocabularies.
type counts struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	Input         int64 `json:"input_tokens"`
	Output        int64 `json:"output_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
}

// readReport reads one answer or event. What is no JSON of that shape reports nothing.
func readReport(data []byte) *report {
	var r report
	if json.Unmarshal(data, &r) != nil {
		return nil
	}
	return &r
}

// add takes over what a report says. Counts of a stream grow, so the largest counts.
func (u *usage) add(r *report, kind llm.Kind) {
	if r == nil {
		return
	}
	c := r.Usage
	if c == nil && r.Response != nil {
		c = r.Response.Usage
	}
	u.partial = u.partial && c == nil
	if c == nil && r.Message != nil {
		c, u.partial = r.Message.Usage, true // what comes out is only known at the end
	}
	if c == nil {
		return
	}
	in := clampTokens(c.Prompt) + clampTokens(c.Input)
	if kind == llm.Anthropic {
		in += clampTokens(c.CacheCreation) + clampTokens(c.CacheRead) // OpenAI counts them in already
	}
	u.in = max(u.in, in)
	u.out = max(u.out, clampTokens(c.Completion)+clampTokens(c.Output))
}

// known reports whether the provider has said what was used.
func (u *usage) known() bool { return u.in+u.out > 0 && !u.partial }

// guess fills in what nobody said, from what the answer looked like.
func (u *usage) guess(h *hold, looksLike int64) {
	if u.known() {
		return
	}
	u.guessed = true
	u.in = max(u.in, h.in)
	u.out = max(u.out, clampTokens(looksLike))
}

// clampTokens keeps a provider's numbers in a range that can be added and multiplied.
func clampTokens(n int64) int64 { return max(0, min(n, llm.MaxTokens)) }
