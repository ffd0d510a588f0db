package agent

import (
	"context"
	"fmt"
	"net/http"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// openAI speaks the chat completions of OpenAI and of all that are compatible with it.
type openAI struct {
	service openai.ChatCompletionService
	params  openai.ChatCompletionNewParams
}

func newOpenAI(client *http.Client, base, key string, model *wall.Model, s settings, system string, tools []toolDef) *openAI {
	opts := []option.RequestOption{option.WithBaseURL(base), option.WithAPIKey(key), option.WithHTTPClient(client), option.WithMaxRetries(retries)}
	for _, f := range s.fields {
		opts = append(opts, option.WithJSONSet(f.name, f.value))
	}
	o := &openAI{service: openai.NewChatCompletionService(opts...)}
	o.params = openai.ChatCompletionNewParams{
		Model:         model.Model,
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system)},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	for _, t := range tools {
		o.params.Tools = append(o.params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.name, Description: openai.String(t.description), Parameters: t.schema,
		}))
	}
	return o
}

func (o *openAI) add(m openai.ChatCompletionMessageParamUnion) {
	o.params.Messages = append(o.params.Messages, m)
}

func (o *openAI) ask(text string) { o.add(openai.UserMessage(text)) }

func (o *openAI) answer(results []result) {
	for _, r := range results {
		o.add(openai.ToolMessage(r.content, r.call.id))
	}
}

func (o *openAI) reply(ctx context.Context, said func(string)) (*reply, error) {
	stream := o.service.NewStreaming(ctx, o.params)
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		chunk := stream.Current()
		chunk.ID = "" // not everybody who is compatible gives all pieces the same
		if !all.AddChunk(chunk) {
			return nil, garbled("a piece of the answer doesn't fit the pieces before it")
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			said(chunk.Choices[0].Delta.Content)
		}
	}
	if err := stream.Err(); err != nil {
		return nil, upstream(ctx, err)
	}
	if len(all.Choices) == 0 || all.Choices[0].FinishReason == "" {
		return nil, garbled("the answer ended before it was complete")
	}
	choice := all.Choices[0]
	choice.Message.ToolCalls = o.completed(choice.Message.ToolCalls)
	o.add(choice.Message.ToParam())
	r := &reply{text: choice.Message.Content}
	for _, c := range choice.Message.ToolCalls {
		r.calls = append(r.calls, toolCall{id: c.ID, name: c.Function.Name, arguments: c.Function.Arguments})
	}
	switch {
	case choice.Message.Refusal != "":
		r.end, r.detail = declined, choice.Message.Refusal
	case choice.FinishReason == "content_filter":
		r.end, r.detail = declined, "the provider's content filter stopped the answer"
	case choice.FinishReason == "length":
		r.end = cutShort
	}
	return r, nil
}

// completed adds what those who are compatible leave out of the wish for a tool, and nobody takes back without.
func (o *openAI) completed(calls []openai.ChatCompletionMessageToolCallUnion) (whole []openai.ChatCompletionMessageToolCallUnion) {
	for i, c := range calls {
		if c.Type == "" {
			c.Type = "function"
		}
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", len(o.params.Messages), i)
		}
		if c.Function.Name != "" { // or it is only a gap in their numbers
			whole = append(whole, c)
		}
	}
	return whole
}
