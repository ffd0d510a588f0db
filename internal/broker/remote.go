package broker

import (
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
func (q *request) refuseRemote() error {
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
		if slices.ContainsFunc(elsewhere(), func(known string) bool { return strings.EqualFold(key, known) }) {
			return fmt.Errorf("%s: a request goes to one model of one provider as it is", key)
		}
	}
	var tools []struct {
		Type *string `json:"type"`
	}
	if err := q.take("tools", &tools); err != nil {
		return errors.New("tools: expected a list of tools")
	}
	for _, t := range tools {
		if t.Type != nil && !runsHere(*t.Type) {
			return fmt.Errorf("tools: %q: %w", clip(*t.Type), errRemote)
		}
	}
	for _, key := range []string{"messages", "input", "system"} {
		var content any
		if err := q.take(key, &content); err == nil && fetches(content) {
			return fmt.Errorf("%s: content by URL: %w", key, errRemote)
		}
	}
	return nil
}

// elsewhere are keys by which gateways let a request go elsewhere, to other models, or with what they keep themselves.
func elsewhere() []string {
	return []string{
		"api_base", "api_key", "base_url", "container", "extra_body", "extra_headers", "fallbacks", "models", "plugins", "prompt", "route",
		"user_config",
	}
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

// fetches looks for images and documents that are given by their address. What a tool was asked is the model's own and not
// looked into.
func fetches(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, fetches)
	case map[string]any:
		if v["type"] == "url" && isRemote(v["url"]) {
			return true
		}
		for key, inner := range v {
			if key == "image_url" || key == "file_url" || key == "video_url" {
				if m, ok := inner.(map[string]any); ok {
					inner = m["url"]
				}
				if isRemote(inner) {
					return true
				}
				continue
			}
			if key != "input" && fetches(inner) || key == "input" && v["type"] != "tool_use" && fetches(inner) {
				return true
			}
		}
	}
	return false
}

func isRemote(v any) bool {
	s, ok := v.(string)
	return ok && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "data:")
}
