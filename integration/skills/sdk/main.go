// Command sdk is a skill that uses the official clients of model providers as anybody would: it knows nothing of hotcell but
// the request on its stdin. It runs in an empty image, in a cell without a network.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
)

// request is what the skill is called with.
type request struct {
	Arguments struct {
		Client string  `json:"client"` // openai, anthropic
		Model  string  `json:"model"`
		Tries  []probe `json:"tries"` // requests that are made by hand
	} `json:"arguments"`
}

// probe is one request over HTTP; $VAR in its texts is the environment's.
type probe struct {
	Method, URL, Token, Body string
}

// said is what came of it all.
type said struct {
	Chat       string   `json:"chat,omitempty"`
	Stream     []string `json:"stream,omitempty"`
	Error      string   `json:"error,omitempty"`
	Tries      []string `json:"tries,omitempty"`
	Interfaces []string `json:"interfaces"`
}

func main() {
	var r request
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		fmt.Fprintln(os.Stderr, "request:", err)
		os.Exit(1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := said{}, error(nil)
	switch r.Arguments.Client {
	case "openai":
		s.Chat, s.Stream, err = useOpenAI(ctx, r.Arguments.Model)
	case "anthropic":
		s.Chat, s.Stream, err = useAnthropic(ctx, r.Arguments.Model)
	}
	if err != nil {
		s.Error = err.Error()
	}
	for _, p := range r.Arguments.Tries {
		s.Tries = append(s.Tries, p.do(ctx))
	}
	if all, err := net.Interfaces(); err == nil {
		for _, i := range all {
			s.Interfaces = append(s.Interfaces, i.Name)
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(s)
}

func useOpenAI(ctx context.Context, model string) (chat string, parts []string, err error) {
	client := openai.NewClient()
	ask := openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say hello.")}}
	whole, err := client.Chat.Completions.New(ctx, ask)
	if err != nil {
		return "", nil, err
	}
	chat = whole.Choices[0].Message.Content
	stream := client.Chat.Completions.NewStreaming(ctx, ask)
	defer stream.Close()
	for stream.Next() {
		if c := stream.Current(); len(c.Choices) > 0 && c.Choices[0].Delta.Content != "" {
			parts = append(parts, c.Choices[0].Delta.Content)
		}
	}
	return chat, parts, stream.Err()
}

func useAnthropic(ctx context.Context, model string) (chat string, parts []string, err error) {
	client := anthropic.NewClient()
	ask := anthropic.MessageNewParams{
		Model: anthropic.Model(model), MaxTokens: 100,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Say hello."))},
	}
	whole, err := client.Messages.New(ctx, ask)
	if err != nil {
		return "", nil, err
	}
	for _, block := range whole.Content {
		chat += block.Text
	}
	stream := client.Messages.NewStreaming(ctx, ask)
	defer stream.Close()
	for stream.Next() {
		if d, ok := stream.Current().AsAny().(anthropic.ContentBlockDeltaEvent); ok {
			parts = append(parts, d.Delta.Text)
		}
	}
	return chat, parts, stream.Err()
}

// do makes the request and returns its status and the beginning of what came back.
func (p probe) do(ctx context.Context) string {
	req, err := http.NewRequestWithContext(ctx, p.Method, os.ExpandEnv(p.URL), strings.NewReader(p.Body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+os.ExpandEnv(p.Token))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	return fmt.Sprintf("%d %s", resp.StatusCode, body)
}
