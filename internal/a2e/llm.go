package a2e

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
)

// safeConfig are the keys of a provider_config that may leave the host. Everything else may hold a key, a header or an
// address.
var safeConfig = []string{
	"frequency_penalty", "max_completion_tokens", "max_output_tokens", "max_tokens", "model", "presence_penalty",
	"reasoning_effort", "seed", "stop", "stop_sequences", "temperature", "top_k", "top_p",
}

// Public returns a copy without credentials and with only those settings of provider_config that can hold no secret
// and no address. A nil receiver gives nil.
func (c *LLMConfig) Public() *LLMConfig {
	if c == nil {
		return nil
	}
	p := &LLMConfig{ProviderName: c.ProviderName, ProviderCredentials: map[string]any{}, IsDefault: c.IsDefault}
	if c.ProviderConfig != nil {
		p.ProviderConfig = maps.Clone(c.ProviderConfig)
		maps.DeleteFunc(p.ProviderConfig, func(k string, _ any) bool { return !slices.Contains(safeConfig, k) })
	}
	return p
}

// MarshalJSON writes the public part alone (see [LLMConfig.Public]): provider_credentials is always {}.
func (c LLMConfig) MarshalJSON() ([]byte, error) {
	type plain LLMConfig
	return marshal((*plain)(c.Public()))
}

// UnmarshalJSON accepts provider_config false, which upstream writes for null.
func (c *LLMConfig) UnmarshalJSON(b []byte) error {
	type plain LLMConfig
	aux := struct {
		*plain
		ProviderConfig falsy `json:"provider_config"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(b, &aux); err != nil {
		return err
	}
	c.ProviderConfig = aux.ProviderConfig
	return nil
}

// falsy is an object that may also come as false.
type falsy map[string]any

func (f *falsy) UnmarshalJSON(b []byte) error {
	if string(b) == "false" {
		*f = nil
		return nil
	}
	return json.Unmarshal(b, (*map[string]any)(f))
}

// String names the provider and redacts the rest.
func (c LLMConfig) String() string { return c.ProviderName + " [redacted]" }

// GoString is [LLMConfig.String], so that %#v shows no key either.
func (c LLMConfig) GoString() string { return "a2e.LLMConfig{" + c.String() + "}" }

// LogValue is [LLMConfig.String] for slog.
func (c LLMConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }
