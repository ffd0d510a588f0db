package skills

import (
	"encoding/json"
	"fmt"

	"github.com/hotcell/hotcell/internal/clever"
)

// Clever projects the skill to the CleverAgents protocol, where it is called "source/name". Its metadata is derived from
// its resolved tools. A schema that does not say its type has no place there: the error is a [*clever.ValidationError].
func (s *Skill) Clever() (clever.SkillDefinition, error) {
	domain := clever.Skill{Name: s.Source + "/" + s.Name, Description: s.Description}
	resolved := make([]clever.ResolvedToolEntry, len(s.Resolved))
	for i, t := range s.Resolved {
		resolved[i] = clever.ResolvedToolEntry{Name: t.Name, SourceType: t.Source, Writes: t.Writes}
	}
	meta, err := clever.MetadataFromSkill(domain, resolved, s.Version)
	if err != nil {
		return clever.SkillDefinition{}, err
	}
	def := clever.SkillDefinitionFields{Skill: domain, ResolvedTools: resolved, Metadata: meta}
	for _, f := range []struct {
		raw  json.RawMessage
		into *map[string]any
	}{{s.InputSchema, &def.InputSchema}, {s.OutputSchema, &def.OutputSchema}} {
		if len(f.raw) == 0 || string(f.raw) == "{}" {
			continue // no schema at all
		}
		if err := json.Unmarshal(f.raw, f.into); err != nil {
			return clever.SkillDefinition{}, fmt.Errorf("skill %s: %w", s.Name, err)
		}
	}
	return clever.NewSkillDefinition(def)
}
