package broker

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

// providerWord repeats a name that could be a provider's, and nothing else: somebody may have put a key in its place.
func providerWord(name string) string {
	const longest = 24 // keys are longer
	if name == "" || len(name) > longest || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return "a provider_name that is none of llm.providers"
	}
	return "provider " + strconv.Quote(name)
}

// approve refuses an override that the skill may not be called with, also where the skill uses no model.
func (b *Broker) approve(skill *skills.Skill, o *a2e.LLMConfig) error {
	if o == nil {
		return nil
	}
	u := b.named(o.ProviderName)
	if u == nil {
		return unauthorized("llm_override: %s is not approved by the operator", providerWord(o.ProviderName))
	}
	if !skill.In(u.Skills) {
		return unauthorized("llm_override: provider %s is not for skill %s; the operator can add %s to the provider's skills in llm.providers", u.Name, skill.Name, skill.Scoped())
	}
	if _, err := callersKey(o.ProviderCredentials); err != nil {
		return err
	}
	for key := range o.ProviderConfig {
		if slices.Contains([]string{"api_key", "apikey", "api-key", "auth_token", "authorization"}, folded(key)) { // it would do nothing, unseen
			return a2e.Errorf(a2e.InvalidMessage, "llm_override: provider_config holds a credential; expected it as provider_credentials.api_key")
		}
	}
	_, err := b.callersURL(o)
	return err
}

// overridden is a plan in which the caller chose among what the operator approves of. Credentials of the caller replace the
// operator's and live in the plan alone.
func (b *Broker) overridden(wish *policies.LLM, o *a2e.LLMConfig) (*plan, error) {
	to := b.named(o.ProviderName)
	key, err := callersKey(o.ProviderCredentials)
	if err != nil {
		return nil, err
	}
	base, err := b.callersURL(o)
	if err != nil {
		return nil, err
	}
	p := &plan{to: to, inject: wish.Inject, config: publicConfig(o)}
	switch {
	case key != "":
		p.key, p.callers = func() (string, error) { return key, nil }, true
	case base != nil:
		return nil, unauthorized("llm_override: a base_url needs an api_key in provider_credentials: the operator's credential goes to the operator's address alone")
	default:
		p.key = b.operators(to)
		if _, err := p.key(); err != nil {
			return nil, notAvailable(to, err)
		}
	}
	if base != nil {
		moved := *to
		moved.base = base
		p.to = &moved
	}
	return p, p.choose(wish, o)
}

// choose decides the model: the caller's, or the skill's where the provider is the skill's too.
func (p *plan) choose(wish *policies.LLM, o *a2e.LLMConfig) error {
	model, ok := o.ProviderConfig["model"].(string)
	if !ok && o.ProviderConfig["model"] != nil {
		return a2e.Errorf(a2e.InvalidMessage, "llm_override: provider_config.model: expected text")
	}
	if model == "" && (wish.Provider == p.to.Name || wish.Provider == "" && p.to.Allows(wish.Model)) {
		return p.asSkill(wish.Model)
	}
	if model != "" && (strings.Contains(model, "*") || !p.to.Allows(model)) {
		return unauthorized("llm_override: provider %s may not be asked for model %q", p.to.Name, clip(model))
	}
	p.restrict(model)
	return nil
}

func unauthorized(format string, args ...any) *a2e.Error {
	return a2e.Errorf(a2e.Unauthorized, format, args...).Because("llm_override")
}

// callersKey reads provider_credentials. Nothing of them may get into an error.
func callersKey(c map[string]any) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if name != "api_key" && name != "base_url" {
			return "", a2e.Errorf(a2e.InvalidMessage, "llm_override: provider_credentials has a key that is not known; expected api_key, and base_url where the operator allows one")
		}
	}
	raw, ok := c["api_key"]
	if !ok || raw == nil {
		return "", nil
	}
	key, ok := raw.(string)
	if !ok || !llm.IsKey(key) {
		return "", a2e.Errorf(a2e.InvalidMessage, "llm_override: provider_credentials.api_key: expected a key: printable text without blanks, from 8 to %d bytes", llm.MaxKey)
	}
	return key, nil
}

// callersURL reads the caller's own address; nil: none.
func (b *Broker) callersURL(o *a2e.LLMConfig) (*url.URL, error) {
	var found *url.URL
	for _, from := range []map[string]any{o.ProviderCredentials, o.ProviderConfig} {
		raw, ok := from["base_url"]
		if !ok || raw == nil {
			continue
		}
		text, ok := raw.(string)
		u, why := llm.CheckURL(text)
		if !ok || why != "" || !slices.ContainsFunc(b.baseURLs, func(allowed *url.URL) bool { return below(u, allowed) }) {
			return nil, unauthorized("llm_override: its base_url is not one that the operator allows (llm.base_urls)")
		}
		if found != nil && found.String() != u.String() {
			return nil, a2e.Errorf(a2e.InvalidMessage, "llm_override: two different base_url")
		}
		found = u
	}
	return found, nil
}

// below reports whether u is an allowed address or one below it.
func below(u, allowed *url.URL) bool {
	path := strings.TrimSuffix(allowed.Path, "/")
	return u.Scheme == allowed.Scheme && strings.EqualFold(u.Host, allowed.Host) && (u.Path == path || strings.HasPrefix(u.Path, path+"/"))
}

// publicConfig is what of an override may be said inside of a cell, without the model.
func publicConfig(o *a2e.LLMConfig) json.RawMessage {
	config := o.Public().ProviderConfig
	delete(config, "model")
	if len(config) == 0 {
		return nil
	}
	data, err := json.Marshal(config)
	if err != nil {
		return nil // it came as JSON
	}
	return data
}
