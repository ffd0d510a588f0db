package agent

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/hotcell/hotcell/internal/engine"
	"github.com/hotcell/hotcell/internal/wall"
)

// chat is one conversation with a model. It keeps what was said.
type chat interface {
	ask(text string)                                                   // adds what the user says
	answer(results []result)                                           // adds what the tools of the last reply said
	reply(ctx context.Context, said func(text string)) (*reply, error) // has the model say something; said gets its text as it comes
}

// reply is what the model said in one turn.
type reply struct {
	text   string
	calls  []toolCall
	end    end
	detail string // why it declined, in its words
}

// end is how a reply ended.
type end int

const (
	ended    end = iota // the model has said what it wanted
	cutShort            // at the most tokens that it may say
	declined            // by the model or a filter
)

// toolCall is the model's wish to use a tool. Arguments may be anything, JSON or not.
type toolCall struct {
	id, name  string
	arguments string
}

// result answers a toolCall.
type result struct {
	call    toolCall
	content string
	failed  bool
}

// toolDef is a tool as the model sees it. The schema is an object's.
type toolDef struct {
	name, description string
	schema            map[string]any
}

// retries is how often an SDK tries again after 408, 409, 429, 5xx and lost connections.
const retries = 2

// openChat begins the conversation with the model of the lease.
func openChat(cfg *engine.Config, model *wall.Model, system string, tools []toolDef, voice *engine.Voice) (chat, error) {
	if model == nil || model.Model == "" {
		return nil, engine.Finalf(codeNoModel, "this skill needs a model, and the call was granted none: name one under llm in skill.yaml, and configure its provider")
	}
	s, err := readSettings(model)
	if err != nil {
		return nil, err
	}
	for _, key := range s.unknown {
		voice.Log("warning", "the model's setting "+engine.OneLine(key, 64)+" is not known to the agent engine and was left out")
	}
	client := &http.Client{} // the default transport minds the proxy of the environment, and never for loopback
	switch model.Kind {
	case "openai", "openai-compatible":
		base, key := cfg.Getenv("OPENAI_BASE_URL"), cfg.Getenv("OPENAI_API_KEY")
		if base == "" {
			return nil, noAddress("OPENAI_BASE_URL")
		}
		return newOpenAI(client, base, key, model, s, system, tools), nil
	case "anthropic":
		base, key := cfg.Getenv("ANTHROPIC_BASE_URL"), cfg.Getenv("ANTHROPIC_API_KEY")
		if base == "" {
			return nil, noAddress("ANTHROPIC_BASE_URL")
		}
		return newAnthropic(client, base, key, model, s, system, tools), nil
	}
	return nil, engine.Finalf(codeUnsupported, "provider %q is of kind %q: expected openai, openai-compatible or anthropic", model.Provider, model.Kind)
}

func noAddress(name string) error {
	return engine.Finalf(codeNoModel, "the environment has no %s: the call's model is not reachable from this cell", name)
}

// object decodes a schema of a tool; what is none becomes the schema of any object.
func object(raw json.RawMessage) map[string]any {
	var schema map[string]any
	if json.Unmarshal(raw, &schema) != nil || schema == nil {
		schema = map[string]any{}
	}
	if _, ok := schema["type"]; !ok {
		schema["type"] = "object"
	}
	return schema
}
