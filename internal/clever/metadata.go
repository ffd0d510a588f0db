package clever

import (
	"encoding/json"
	"reflect"
	"slices"
)

// DefaultVersion is a skill's version when none is given.
const DefaultVersion = "0.0.0"

// Skill is a skill of the domain, as far as the protocol needs it.
type Skill struct {
	Name        string `json:"name"` // namespaced: "local/my-skill"
	Description string `json:"description"`
}

// ResolvedToolEntry is one tool of a skill's flattened set.
type ResolvedToolEntry struct {
	Name           string `json:"name"`
	SourceType     string `json:"source_type"` // "builtin", "skill", "mcp"
	Inline         bool   `json:"inline"`      // the skill brings it along itself
	Writes         bool   `json:"writes"`
	HasSideEffects bool   `json:"has_side_effects"`
}

// SkillCapabilitySummary aggregates what a skill's tools can do. The zero value is the empty one.
type SkillCapabilitySummary struct {
	WriteTools     int  `json:"write_tools"` // how many tools can write
	HasSideEffects bool `json:"has_side_effects"`
}

// Summarize aggregates the capabilities of tools.
func Summarize(resolved []ResolvedToolEntry) SkillCapabilitySummary {
	var s SkillCapabilitySummary
	for _, t := range resolved {
		if t.Writes {
			s.WriteTools++
		}
		s.HasSideEffects = s.HasSideEffects || t.HasSideEffects
	}
	return s
}

// writes reports whether what is summarized changes anything.
func (s SkillCapabilitySummary) writes() bool { return s.WriteTools > 0 || s.HasSideEffects }

// SkillMetadata describes a skill for discovery and catalogues. It never changes.
type SkillMetadata struct{ f SkillMetadataFields }

// SkillMetadataFields is what a [SkillMetadata] is made of.
type SkillMetadataFields struct {
	Name              string                 `json:"name"` // namespaced
	Description       string                 `json:"description"`
	Version           string                 `json:"version"`    // semantic; "": [DefaultVersion]
	ToolCount         int                    `json:"tool_count"` // of resolved tools
	CapabilitySummary SkillCapabilitySummary `json:"capability_summary"`
	SourceTypes       []string               `json:"source_types"` // distinct labels; nil is none
	Writes            bool                   `json:"writes"`       // any tool can write
	ReadOnly          *bool                  `json:"read_only"`    // the entire skill is read-only; nil: true
}

// NewSkillMetadata makes a SkillMetadata. The error is a [*ValidationError].
func NewSkillMetadata(f SkillMetadataFields) (SkillMetadata, error) {
	readOnly := f.ReadOnly == nil || *f.ReadOnly
	c := checks{of: "SkillMetadata"}
	c.add(f.Name == "", "name: required")
	c.add(f.ToolCount < 0, "tool_count: expected 0 or more, got %d", f.ToolCount)
	c.add(f.CapabilitySummary.WriteTools < 0, "capability_summary.write_tools: expected 0 or more, got %d", f.CapabilitySummary.WriteTools)
	c.add(f.Writes && readOnly, "writes and read_only exclude each other")
	c.add(!f.Writes && readOnly && f.CapabilitySummary.writes(), "read_only, but capability_summary has tools that write")
	if err := c.err(); err != nil {
		return SkillMetadata{}, err
	}
	if f.Version == "" {
		f.Version = DefaultVersion
	}
	f.ReadOnly, f.SourceTypes = &readOnly, distinct(f.SourceTypes)
	return SkillMetadata{f}, nil
}

// MetadataFromSkill derives the metadata of a skill from its resolved tools. The error is a [*ValidationError].
func MetadataFromSkill(skill Skill, resolved []ResolvedToolEntry, version string) (SkillMetadata, error) {
	summary := Summarize(resolved)
	readOnly := !summary.writes()
	labels := make([]string, len(resolved))
	for i, t := range resolved {
		labels[i] = t.SourceType
	}
	return NewSkillMetadata(SkillMetadataFields{
		Name: skill.Name, Description: skill.Description, Version: version, ToolCount: len(resolved),
		CapabilitySummary: summary, SourceTypes: labels, Writes: !readOnly, ReadOnly: &readOnly,
	})
}

// distinct returns each label once, in order, and never nil.
func distinct(labels []string) []string {
	out := []string{}
	for _, l := range labels {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// Fields returns a copy of what it is made of.
func (m SkillMetadata) Fields() SkillMetadataFields {
	f := m.f
	f.SourceTypes = slices.Clone(f.SourceTypes)
	if f.ReadOnly != nil {
		own := *f.ReadOnly
		f.ReadOnly = &own
	}
	return f
}

// Writes reports whether any tool can write.
func (m SkillMetadata) Writes() bool { return m.f.Writes }

// ReadOnly reports whether the entire skill is read-only: it may never trigger a tool that writes.
func (m SkillMetadata) ReadOnly() bool { return m.f.ReadOnly == nil || *m.f.ReadOnly }

func (m SkillMetadata) made() bool { return m.f.Name != "" }

// MarshalJSON implements [json.Marshaler].
func (m SkillMetadata) MarshalJSON() ([]byte, error) { return json.Marshal(m.f) }

// UnmarshalJSON implements [json.Unmarshaler]. It fills a new value only.
func (m *SkillMetadata) UnmarshalJSON(data []byte) error {
	if !reflect.ValueOf(m.f).IsZero() {
		return errFrozen
	}
	var f SkillMetadataFields
	if err := decode("SkillMetadata", data, []string{"name", "description"}, &f); err != nil {
		return err
	}
	made, err := NewSkillMetadata(f)
	*m = made
	return err
}
