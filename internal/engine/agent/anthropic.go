package agent

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/hotcell/hotcell/internal/wall"
)

// defaultTokens is the most that the model says in one turn, where the settings have nothing: the protocol wants a number.
const defaultTokens = 4096

// anthropicChat speaks Anthropic's messages.
type anthropicChat struct {
	service anthropic.MessageService
	params  anthropic.MessageNewParams
}

func newAnthropic(client *http.Client, base, key string, model *wall.Model, s settings, system string, tools []toolDef) *anthropicChat {
	opts := []option.RequestOption{option.WithBaseURL(base), option.WithAPIKey(key), option.WithHTTPClient(client), option.WithMaxRetries(retries)}
	if !s.has("max_tokens") {
		s.fields = append(s.fields, setting{"max_tokens", defaultTokens})
	}
	for _, f := range s.fields {
		opts = append(opts, option.WithJSONSet(f.name, f.value))
	}
	c := &anthropicChat{service: anthropic.NewMessageService(opts...)}
	c.params = anthropic.MessageNewParams{
		Model: anthropic.Model(model.Model), System: []anthropic.TextBlockParam{{Text: system}},
	}
	for _, t := range tools {
		def := &anthropic.ToolParam{Name: t.name, Description: anthropic.String(t.description)}
		def.InputSchema.ExtraFields = map[string]any{}
		for key, value := range t.schema {
			if key != "type" {
				def.InputSchema.ExtraFields[key] = value
			}
		}
		c.params.Tools = append(c.params.Tools, anthropic.ToolUnionParam{OfTool: def})
	}
	return c
}

// ask adds to the last message if that is the user's too: the roles take turns.
func (c *anthropicChat) ask(text string) { c.say(anthropic.NewTextBlock(text)) }

func (c *anthropicChat) answer(results []result) {
	for _, r := range results {
		c.say(anthropic.NewToolResultBlock(r.call.id, r.content, r.failed))
	}
}

func (c *anthropicChat) say(block anthropic.ContentBlockParamUnion) {
	if n := len(c.params.Messages); n > 0 && c.params.Messages[n-1].Role == anthropic.MessageParamRoleUser {
		c.params.Messages[n-1].Content = append(c.params.Messages[n-1].Content, block)
		return
	}
	c.params.Messages = append(c.params.Messages, anthropic.NewUserMessage(block))
}

func (c *anthropicChat) reply(ctx context.Context, said func(string)) (*reply, error) {
	stream := c.service.NewStreaming(ctx, c.params)
	defer stream.Close()
	var all anthropic.Message
	for stream.Next() {
		event := stream.Current()
		if err := all.Accumulate(event); err != nil {
			return nil, garbled("a piece of the answer doesn't fit the pieces before it")
		}
		if event.Type == "content_block_delta" && event.Delta.Text != "" {
			said(event.Delta.Text)
		}
	}
	if err := stream.Err(); err != nil {
		return nil, upstream(ctx, err)
	}
	if all.StopReason == "" {
		return nil, garbled("the answer ended before it was complete")
	}
	return c.take(&all), nil
}

// take keeps the reply in the conversation.
func (c *anthropicChat) take(m *anthropic.Message) *reply {
	r := &reply{}
	var text strings.Builder
	for _, block := range m.Content {
		switch block.Type {
		case "text":
			text.WriteString(block.Text)
		case "tool_use":
			r.calls = append(r.calls, toolCall{id: block.ID, name: block.Name, arguments: string(block.Input)})
		}
	}
	r.text = text.String()
	switch m.StopReason {
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		r.end = cutShort
	case anthropic.StopReasonRefusal:
		r.end, r.detail = declined, m.StopDetails.Explanation
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence, anthropic.StopReasonToolUse, anthropic.StopReasonPauseTurn:
	}
	// What is empty is refused when it is sent again.
	m.Content = slices.DeleteFunc(m.Content, func(b anthropic.ContentBlockUnion) bool {
		return b.Type == "text" && strings.TrimSpace(b.Text) == ""
	})
	if len(m.Content) > 0 {
		c.params.Messages = append(c.params.Messages, m.ToParam())
	}
	return r
}
