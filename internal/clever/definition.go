package clever

import (
	"encoding/json"
	"reflect"
	"slices"
)

// SkillDefinition is a skill of the domain with its resolved tools and its metadata. It never changes.
type SkillDefinition struct{ f SkillDefinitionFields }

// SkillDefinitionFields is what a [SkillDefinition] is made of.
type SkillDefinitionFields struct {
	Skill         Skill               `json:"skill"`
	ResolvedTools []ResolvedToolEntry `json:"resolved_tools"` // the flattened set; nil is an empty one
	Metadata      SkillMetadata       `json:"metadata"`       // computed before
	InputSchema   map[string]any      `json:"input_schema"`   // JSON Schema with a "type"; nil: none
	OutputSchema  map[string]any      `json:"output_schema"`
}

// NewSkillDefinition makes a SkillDefinition. The error is a [*ValidationError].
func NewSkillDefinition(f SkillDefinitionFields) (SkillDefinition, error) {
	c := checks{of: "SkillDefinition"}
	c.add(f.Skill.Name == "", "skill: required")
	c.add(!f.Metadata.made(), "metadata: required")
	f.InputSchema = c.schema("input_schema", f.InputSchema)
	f.OutputSchema = c.schema("output_schema", f.OutputSchema)
	c.consistent(f)
	if err := c.err(); err != nil {
		return SkillDefinition{}, err
	}
	f.ResolvedTools = append([]ResolvedToolEntry{}, f.ResolvedTools...)
	return SkillDefinition{f}, nil
}

// schema checks that a schema says its type.
func (c *checks) schema(name string, schema map[string]any) map[string]any {
	if schema == nil {
		return nil
	}
	_, typed := schema["type"]
	c.add(!typed, `%s: a JSON Schema must include "type"`, name)
	own, err := freezeMap(schema)
	c.add(err != nil, "%s: %v", name, err)
	return own
}

// consistent checks the metadata's writes and read_only against what the tools can do. Metadata that speak of writing say
// so for tools that are not listed here, too.
func (c *checks) consistent(f SkillDefinitionFields) {
	for _, t := range f.ResolvedTools {
		c.add(t.Name == "", "resolved_tools: a tool without a name")
		c.add(f.Metadata.ReadOnly() && (t.Writes || t.HasSideEffects), "metadata: read_only, but the tool %.64q writes", t.Name)
	}
	if len(f.ResolvedTools) == 0 {
		return
	}
	can := Summarize(f.ResolvedTools).writes() || f.Metadata.f.CapabilitySummary.writes()
	c.add(f.Metadata.Writes() && !can, "metadata: writes, but no resolved tool does")
}

// Fields returns a copy of what it is made of.
func (d SkillDefinition) Fields() SkillDefinitionFields {
	f := d.f
	f.ResolvedTools = slices.Clone(f.ResolvedTools)
	f.InputSchema, f.OutputSchema = thaw(f.InputSchema), thaw(f.OutputSchema)
	return f
}

// Metadata returns the metadata.
func (d SkillDefinition) Metadata() SkillMetadata { return d.f.Metadata }

// MarshalJSON implements [json.Marshaler].
func (d SkillDefinition) MarshalJSON() ([]byte, error) { return json.Marshal(d.f) }

// UnmarshalJSON implements [json.Unmarshaler]. It fills a new value only.
func (d *SkillDefinition) UnmarshalJSON(data []byte) error {
	if !reflect.ValueOf(d.f).IsZero() {
		return errFrozen
	}
	var f SkillDefinitionFields
	if err := decode("SkillDefinition", data, []string{"skill", "metadata"}, &f); err != nil {
		return err
	}
	made, err := NewSkillDefinition(f)
	*d = made
	return err
}
