package skills

import (
	"fmt"
	"maps"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Arguments returns the arguments that a run gets: the call's over the skill's defaults. They fit the input schema;
// otherwise the error is an [*a2e.Error] with code schema_violation that names the fields. The call's map is not changed.
func (s *Skill) Arguments(call map[string]any) (map[string]any, error) {
	args := make(map[string]any, len(call)+len(s.ArgDefaults))
	maps.Copy(args, s.ArgDefaults)
	maps.Copy(args, call)
	if err := s.validate(s.Input, args, "arguments"); err != nil {
		return nil, a2e.Errorf(a2e.SchemaViolation, "%w", err)
	}
	return args, nil
}

// CheckOutput checks a run's data against the output schema. The error is an [*a2e.Error] with code skill_error and
// reason output_schema.
func (s *Skill) CheckOutput(data any) error {
	if s.Output == nil {
		return nil
	}
	if err := s.Output.Validate(data); err != nil {
		return a2e.Errorf(a2e.SkillError, "output does not match output_schema: %w", err).Because(a2e.ReasonOutputSchema)
	}
	return nil
}

// validate bounds a value also where no schema does.
func (s *Skill) validate(schema *Schema, v any, root string) error {
	if schema != nil {
		return schema.Validate(v)
	}
	if _, err := measure(v, root, maxValueNodes); err != nil {
		return fmt.Errorf("skill %s: %w", s.Name, err)
	}
	return nil
}
