package agent

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/hotcell/hotcell/internal/engine"
	"github.com/hotcell/hotcell/internal/wall"
)

// The settings of a model that are passed on, and what each kind of provider calls them.
var (
	openAINames = map[string]string{
		"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_completion_tokens", "max_completion_tokens": "max_completion_tokens",
		"max_output_tokens": "max_completion_tokens", "stop": "stop", "stop_sequences": "stop", "seed": "seed",
		"frequency_penalty": "frequency_penalty", "presence_penalty": "presence_penalty", "reasoning_effort": "reasoning_effort",
	}
	anthropicNames = map[string]string{
		"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_tokens": "max_tokens", "max_completion_tokens": "max_tokens",
		"max_output_tokens": "max_tokens", "stop": "stop_sequences", "stop_sequences": "stop_sequences",
	}
)

// setting is one field of a request to a model.
type setting struct {
	name  string
	value any
}

// settings are what goes into every request to the model beside the conversation.
type settings struct {
	fields  []setting
	unknown []string
}

func readSettings(m *wall.Model) (settings, error) {
	var s settings
	if len(m.Config) == 0 {
		return s, nil
	}
	var config map[string]json.RawMessage
	if err := json.Unmarshal(m.Config, &config); err != nil {
		return s, engine.Finalf(codeBadSkill, "the model's settings are no JSON object")
	}
	names := openAINames
	if m.Kind == "anthropic" {
		names = anthropicNames
	}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		name, ok := names[key]
		switch {
		case key == "model": // the lease says which one
		case !ok:
			s.unknown = append(s.unknown, key)
		default:
			if m.Kind == "openai-compatible" && name == "max_completion_tokens" {
				name = "max_tokens" // the newer word is OpenAI's own
			}
			s.fields = append(s.fields, setting{name, list(name, config[key])})
		}
	}
	return s, nil
}

// list makes a single stop text the list that Anthropic wants.
func list(name string, value json.RawMessage) any {
	if name == "stop_sequences" && len(value) > 0 && value[0] == '"' {
		return []any{value}
	}
	return value
}

func (s settings) has(name string) bool {
	return slices.ContainsFunc(s.fields, func(f setting) bool { return f.name == name })
}
