package skills

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Definition projects the skill to A2E. File paths and credentials never appear in it.
func (s *Skill) Definition() a2e.Definition {
	d := a2e.Definition{
		Name:         s.Name,
		Version:      s.Version,
		Description:  s.Description,
		Triggers:     nonNil(s.Triggers),
		Tools:        slices.Clone(s.Tools),
		Toolkits:     slices.Clone(s.Toolkits),
		Status:       string(s.Status),
		InputSchema:  schemaOrEmpty(s.InputSchema),
		OutputSchema: schemaOrEmpty(s.OutputSchema),
		Instructions: textOrNil(s.Instructions),
		Arguments:    nonNil(s.ArgNames),
		WhenToUse:    s.WhenToUse,
		ArgumentHint: s.ArgumentHint,
		Source:       wireSource(s.Source),
		Category:     textOrNil(s.Category),
		Tags:         slices.Clone(s.Tags),
		MaxTurns:     numberOrNil(s.MaxTurns),
		Icon:         textOrNil(s.Icon),
		Metadata:     maps.Clone(s.Metadata),
	}
	d.TimeoutSeconds = numberOrNil(int(s.Policy.Timeout / time.Second))
	return d
}

// Filter returns the Published skills that have one of the tags and one of the categories. An empty list matches all;
// otherwise matches are exact.
func Filter(skills []*Skill, tags, categories []string) []*Skill {
	var out []*Skill
	for _, s := range skills {
		if s.Status != Published {
			continue
		}
		if len(categories) > 0 && !slices.Contains(categories, s.Category) {
			continue
		}
		if len(tags) > 0 && !slices.ContainsFunc(tags, func(t string) bool { return slices.Contains(s.Tags, t) }) {
			continue
		}
		out = append(out, s)
	}
	return out
}

// wireSource maps the label of a source to A2E's three words; a plugin's label counts as system.
func wireSource(label string) string {
	switch label {
	case SourceProject, SourceUser:
		return label
	}
	return "system"
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return slices.Clone(list)
}

func schemaOrEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func numberOrNil(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}
