package broker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// environment sets what a cell finds, as the libraries read it.
func environment(t *testing.T, g interface {
	Env(at func(string) string, token string) []string
}) {
	for _, name := range []string{"OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_AUTH_TOKEN"} {
		t.Setenv(name, "")
	}
	for _, kv := range g.Env(func(string) string { return "127.0.0.1:41001" }, token) {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
}

// everyEndpoint answers as OpenAI does.
func everyEndpoint(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body) // it is in memory
	stream := strings.Contains(string(body), `"stream":true`)
	switch q.URL.Path {
	case "/v1/chat/completions":
		if stream {
			events(
				`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"small","choices":[{"index":0,"delta":{"role":"assistant","content":"hel"}}],"usage":null}`+"\n\n",
				`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"small","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}],"usage":null}`+"\n\n",
				usageChunk, done)(w, q)
			return
		}
		answerWith(chatAnswer)(w, q)
	case "/v1/responses":
		const whole = `{"id":"r","object":"response","status":"completed","model":"small","output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]}],"usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}`
		if stream {
			events("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"hello\"}\n\n",
				"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":"+whole+"}\n\n")(w, q)
			return
		}
		answerWith(whole)(w, q)
	case "/v1/embeddings":
		answerWith(`{"object":"list","model":"small","data":[{"object":"embedding","index":0,"embedding":[0.5,1]}],"usage":{"prompt_tokens":2,"total_tokens":2}}`)(w, q)
	case "/v1/models":
		answerWith(`{"object":"list","data":[{"id":"small","object":"model","created":1,"owned_by":"x"},{"id":"huge","object":"model","created":1,"owned_by":"x"}]}`)(w, q)
	}
}

func TestTheOpenAILibraryWorksUnmodified(t *testing.T) {
	r := newRig(t, llm.OpenAI, everyEndpoint)
	g, c := r.grant(askFor(policies.LLM{}))
	environment(t, g)
	client, ctx := openai.NewClient(option.WithHTTPClient(c)), t.Context()
	chat := openai.ChatCompletionNewParams{Model: "small", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}}

	whole, err := client.Chat.Completions.New(ctx, chat)
	if err != nil || whole.Choices[0].Message.Content != "hello" || whole.Usage.TotalTokens != 12 {
		t.Errorf("chat: %+v, %v", whole, err)
	}
	stream, text, chunks := client.Chat.Completions.NewStreaming(ctx, chat), "", 0
	for stream.Next() {
		chunks++
		text += stream.Current().Choices[0].Delta.Content
	}
	if stream.Err() != nil || text != "hello" || chunks != 2 {
		t.Errorf("chat as a stream: %q in %d, %v", text, chunks, stream.Err())
	}
	if e := r.diary.wait(t, 2); e["tokens_in"] != int64(11) || e["tokens_out"] != int64(22) {
		t.Errorf("audit %+v", e)
	}
	answers(ctx, t, client)
	vectors, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{Model: "small", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("hi")}})
	if err != nil || len(vectors.Data) != 1 || len(vectors.Data[0].Embedding) != 2 {
		t.Errorf("embeddings: %+v, %v", vectors, err)
	}
	models, err := client.Models.List(ctx)
	if err != nil || len(models.Data) != 1 || models.Data[0].ID != "small" {
		t.Errorf("models: %+v, %v", models, err)
	}
	for _, at := range r.requests() {
		if at.header.Get("Authorization") != "Bearer "+realKey || strings.Contains(at.header.Get("User-Agent"), "OpenAI") {
			t.Errorf("the provider got %+v", at)
		}
	}
}

func answers(ctx context.Context, t *testing.T, client openai.Client) {
	t.Helper()
	ask := responses.ResponseNewParams{Model: "small", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hi")}}
	whole, err := client.Responses.New(ctx, ask)
	if err != nil || whole.OutputText() != "hello" {
		t.Errorf("responses: %+v, %v", whole, err)
	}
	stream, text := client.Responses.NewStreaming(ctx, ask), ""
	for stream.Next() {
		if e := stream.Current(); e.Type == "response.output_text.delta" {
			text += e.Delta
		}
	}
	if stream.Err() != nil || text != "hello" {
		t.Errorf("responses as a stream: %q, %v", text, stream.Err())
	}
}

// A refusal is an error that the library understands and doesn't try again.
func TestTheOpenAILibraryUnderstandsRefusals(t *testing.T) {
	r := newRig(t, llm.OpenAI, everyEndpoint)
	ask := askFor(policies.LLM{})
	ask.Skill.MaxTurns = 1
	g, c := r.grant(ask)
	environment(t, g)
	client := openai.NewClient(option.WithHTTPClient(c))
	chat := openai.ChatCompletionNewParams{Model: "huge", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}}
	for model, code := range map[string]string{"huge": "model", "small": "requests"} {
		chat.Model = "small"
		if code == "requests" {
			if _, err := client.Chat.Completions.New(t.Context(), chat); err != nil {
				t.Fatal(err)
			}
		}
		chat.Model = model
		_, err := client.Chat.Completions.New(t.Context(), chat)
		var e *openai.Error
		if !errors.As(err, &e) || e.StatusCode != http.StatusForbidden || e.Code != code || !strings.HasPrefix(e.Message, "hotcell: ") {
			t.Errorf("%s: %v", model, err)
		}
	}
	r.diary.mu.Lock()
	defer r.diary.mu.Unlock()
	if n := len(r.diary.entries); n != 3 {
		t.Errorf("%d requests came; refusals were tried again", n)
	}
}

func TestTheAnthropicLibraryWorksUnmodified(t *testing.T) {
	r := newRig(t, llm.Anthropic, func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body) // it is in memory
		switch {
		case q.URL.Path == "/v1/messages/count_tokens":
			answerWith(`{"input_tokens":42}`)(w, q)
		case strings.Contains(string(body), `"stream":true`):
			events(
				"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"small\",\"content\":[],\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n",
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
				"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n",
				"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":6}}\n\n",
				"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")(w, q)
		default:
			answerWith(`{"id":"m","type":"message","role":"assistant","model":"small","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":6}}`)(w, q)
		}
	})
	g, c := r.grant(askFor(policies.LLM{}))
	environment(t, g)
	client, ctx := anthropic.NewClient(anthropicoption.WithHTTPClient(c)), t.Context()
	ask := anthropic.MessageNewParams{Model: "small", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))}}

	whole, err := client.Messages.New(ctx, ask)
	if err != nil || whole.Content[0].Text != "hello" {
		t.Errorf("%+v, %v", whole, err)
	}
	stream := client.Messages.NewStreaming(ctx, ask)
	var built anthropic.Message
	for stream.Next() {
		if err := built.Accumulate(stream.Current()); err != nil {
			t.Error(err)
		}
	}
	if stream.Err() != nil || built.Content[0].Text != "hello" {
		t.Errorf("as a stream: %+v, %v", built, stream.Err())
	}
	if e := r.diary.wait(t, 2); e["tokens_in"] != int64(5) || e["tokens_out"] != int64(6) || e["estimated"] != nil {
		t.Errorf("audit %+v", e)
	}
	n, err := client.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: "small", Messages: ask.Messages})
	if err != nil || n.InputTokens != 42 {
		t.Errorf("count_tokens: %+v, %v", n, err)
	}
	ask.Model = "huge"
	_, err = client.Messages.New(ctx, ask)
	var e *anthropic.Error
	if !errors.As(err, &e) || e.StatusCode != http.StatusForbidden || !strings.Contains(e.Error(), "not granted") {
		t.Errorf("a refusal: %v", err)
	}
	for _, at := range r.requests() {
		if at.header.Get("X-Api-Key") != realKey || at.header.Get("Authorization") != "" {
			t.Errorf("the provider got %+v", at)
		}
	}
}
