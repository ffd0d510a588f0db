package a2ahost

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Extension is the URI of the way in which clients say which skill they mean. docs/a2a.md describes it.
const Extension = "https://github.com/hotcell/hotcell/a2a/skill-selection/v1"

const extensionText = "A message says which skill it means, in this order: metadata skill_id, skillId or skill of the message, " +
	"then of the request; a data part {\"skill\": ID, \"arguments\": {...}}. A message that says nothing gets the skill whose trigger is in " +
	"its text, or a task that asks. A data part that is an object is the arguments, by the schemas here. metadata timeout is in " +
	"seconds, correlation_id is handed on."

// card describes this agent to who may see these skills, at a listener's URL.
func (h *Host) card(s *shelf, base string, public bool) *a2a.AgentCard {
	c := &a2a.AgentCard{
		Name:        "hotcell",
		Description: "Runs skills, each call in a sealed container of its own. A message names a skill and its arguments; its task is the call.",
		Version:     h.opts.Version,
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+rpcPath, a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(base+BasePath, a2a.TransportProtocolHTTPJSON),
		},
		DefaultInputModes:  []string{mediaJSON, mediaText},
		DefaultOutputModes: []string{mediaJSON, mediaText},
	}
	params := map[string]any{}
	for _, one := range s.list {
		if public && !one.Shared {
			continue
		}
		c.Skills = append(c.Skills, agentSkill(one))
		params[one.id] = skillParams(one)
	}
	c.Capabilities = a2a.AgentCapabilities{
		Streaming: true, ExtendedAgentCard: h.auth(),
		Extensions: []a2a.AgentExtension{{URI: Extension, Description: extensionText, Params: map[string]any{"skills": params}}},
	}
	h.secure(c)
	return c
}

// secure says how callers show who they are. Where nothing authenticates it says nothing.
func (h *Host) secure(c *a2a.AgentCard) {
	s := h.opts.Security
	if !h.auth() {
		return
	}
	c.SecuritySchemes = a2a.NamedSecuritySchemes{}
	add := func(name a2a.SecuritySchemeName, scheme a2a.SecurityScheme) {
		c.SecuritySchemes[name] = scheme
		c.SecurityRequirements = append(c.SecurityRequirements, a2a.SecurityRequirements{name: a2a.SecuritySchemeScopes{}})
	}
	if s.Tokens {
		add("token", a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "A token of this host with the scope calls."})
	}
	if s.Issuer != "" {
		add("oidc", a2a.OpenIDConnectSecurityScheme{
			OpenIDConnectURL: strings.TrimSuffix(s.Issuer, "/") + "/.well-known/openid-configuration",
			Description:      "A signed token of this issuer.",
		})
	}
}

func agentSkill(s *skill) a2a.AgentSkill {
	d := s.Definition
	out := a2a.AgentSkill{
		ID: s.id, Name: s.id, Description: d.Description, Tags: slices.DeleteFunc(slices.Clone(d.Tags), blank),
		InputModes: s.in, OutputModes: s.out,
	}
	if blank(out.Description) {
		out.Description = s.id
	}
	if len(out.Tags) == 0 {
		tag := "skill"
		if d.Category != nil && !blank(*d.Category) {
			tag = *d.Category
		}
		out.Tags = []string{tag}
	}
	for _, e := range s.Examples {
		if text := example(e); !blank(text) {
			out.Examples = append(out.Examples, text)
		}
	}
	return out
}

// example is a text as it is, and anything else as JSON.
func example(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// skillParams is what the extension says of a skill.
func skillParams(s *skill) map[string]any {
	d, out := s.Definition, map[string]any{}
	if schema := d.InputSchema; len(schema) > 0 && string(schema) != "{}" {
		out["inputSchema"] = schema
	}
	if schema := d.OutputSchema; len(schema) > 0 && string(schema) != "{}" {
		out["outputSchema"] = schema
	}
	if d.ArgumentHint != "" {
		out["argumentHint"] = d.ArgumentHint
	}
	if len(d.Triggers) > 0 {
		out["triggers"] = d.Triggers
	}
	return out
}
