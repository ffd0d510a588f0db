package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errRemote is why a request is refused that would let the provider reach into the network for the cell: what a cell may
// not do itself it may not have done.
var errRemote = errors.New("the provider would fetch or run something on the network for the cell, which has none")

// refuseRemote finds tools that run at the provider, content that the provider fetches, and answers that go on after the
// call.
func (q *request) refuseRemote(rt *route) error {
	var background bool
	if err := q.take("background", &background); err != nil || background {
		return errors.New("background: an answer cannot outlive the call")
	}
	for _, key := range []string{"mcp_servers", "web_search_options"} {
		if raw, ok := q.fields[key]; ok && string(raw) != "null" && string(raw) != "[]" {
			return fmt.Errorf("%s: %w", key, errRemote)
		}
	}
	for key := range q.fields {
		switch word := folded(key); {
		case slices.Contains(elsewhere(), word), slices.ContainsFunc(families(), func(f string) bool { return strings.HasPrefix(word, f) }):
			return fmt.Errorf("%.64q: a request goes to one model of one provider as it is", key)
		case slices.Contains(searches(), word):
			return fmt.Errorf("%.64q: %w", key, errRemote)
		}
	}
	if err := q.refuseTools(rt); err != nil {
		return err
	}
	for _, key := range []string{"messages", "input", "system"} {
		var content any
		if err := q.take(key, &content); err == nil && fetches(content) {
			return fmt.Errorf("%s: content by URL: %w", key, errRemote)
		}
	}
	return nil
}

// folded is a key as a careless reader takes it.
func folded(key string) string { return strings.ToLower(strings.TrimSpace(key)) }

// elsewhere are keys by which gateways let a request go elsewhere, to other models, or with what they keep themselves.
func elsewhere() []string {
	return []string{
		"api_base", "api_key", "api_version", "base_url", "container", "custom_llm_provider", "deployment_id", "extra_body", "extra_headers",
		"extra_query", "fallbacks", "headers", "model_list", "models", "organization", "plugins", "preset", "prompt", "provider", "route",
		"user_config",
	}
}

// families are what such keys begin with.
func families() []string { return []string{"aws_", "azure_", "litellm_", "vertex_"} }

// searches are keys by which providers search the network for an answer.
func searches() []string {
	return []string{
		"compound_custom", "connectors", "enable_search", "google", "search_options", "search_parameters", "search_settings", "web_search",
	}
}

// refuseTools finds tools that are not answered by the one who asks.
func (q *request) refuseTools(rt *route) error {
	var tools []map[string]json.RawMessage
	if err := q.take("tools", &tools); err != nil {
		return errors.New("tools: expected a list of tools")
	}
	for _, t := range tools {
		for key := range t {
			if key != "type" && strings.EqualFold(strings.TrimSpace(key), "type") {
				return fmt.Errorf("tools: %.64q is too much like %q", key, "type")
			}
		}
		var kind string
		switch raw := t["type"]; {
		case raw == nil || string(raw) == "null":
			if rt.typedTools || t["name"] == nil || t["input_schema"] == nil {
				return fmt.Errorf("tools: a tool without a type: %w", errRemote)
			}
		case json.Unmarshal(raw, &kind) != nil:
			return errors.New("tools: expected a list of tools")
		case !runsHere(kind):
			return fmt.Errorf("tools: %q: %w", clip(kind), errRemote)
		}
	}
	return nil
}

// runsHere reports whether a kind of tool is answered by the one who asks.
func runsHere(kind string) bool {
	if slices.Contains([]string{"function", "custom", "local_shell", "apply_patch"}, kind) {
		return true
	}
	for _, family := range []string{"bash_", "text_editor_", "computer_", "memory_"} {
		if strings.HasPrefix(kind, family) {
			return true
		}
	}
	return false
}

// fetches looks for pictures, recordings and documents that are given by their address, in keys of any case. What a tool was
// asked is the model's own and not looked into.
func fetches(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, fetches)
	case map[string]any:
		source := byAddress(v)
		for key, inner := range v {
			switch word := strings.ToLower(key); {
			case word == "url" && source, word == "image_url", word == "file_url", word == "video_url", word == "audio_url":
				if addressIn(inner) {
					return true
				}
			case key == "input" && v["type"] == "tool_use":
			case slices.Contains(media(), word) && isLink(inner), fetches(inner):
				return true
			}
		}
	}
	return false
}

// byAddress reports whether an object says of itself that it is an address.
func byAddress(v map[string]any) bool {
	for key, value := range v {
		if s, ok := value.(string); ok && strings.EqualFold(key, "type") && strings.EqualFold(s, "url") {
			return true
		}
	}
	return false
}

// media are keys under which some providers take an address as well as the thing itself.
func media() []string {
	return []string{"audio", "document", "file", "file_data", "file_id", "image", "video"}
}

// isLink reports whether a text is an address beyond doubt.
func isLink(v any) bool {
	s, ok := v.(string)
	return ok && strings.Contains(s[:min(len(s), 16)], "://")
}

// addressIn looks for an address where one belongs.
func addressIn(v any) bool {
	switch v := v.(type) {
	case string:
		return !strings.HasPrefix(strings.ToLower(strings.TrimSpace(v)), "data:")
	case []any:
		return slices.ContainsFunc(v, addressIn)
	case map[string]any:
		for key, inner := range v {
			if strings.EqualFold(key, "url") && addressIn(inner) {
				return true
			}
		}
	}
	return false
}
