package clever

import (
	"encoding/json"
	"math"
	"reflect"
)

// SkillResult is the outcome of one use of a tool by a skill. It never changes.
type SkillResult struct{ f SkillResultFields }

// SkillResultFields is what a [SkillResult] is made of.
type SkillResultFields struct {
	SkillName       string           `json:"skill_name"`
	ToolName        string           `json:"tool_name"`
	Success         bool             `json:"success"`
	OutputData      any              `json:"output_data"`      // a JSON value
	Error           *SkillError      `json:"error"`            // on failure
	DurationMS      float64          `json:"duration_ms"`      // a fraction, unlike A2E's
	ResourceChanges []map[string]any `json:"resource_changes"` // nil is none
}

// NewSkillResult makes a SkillResult. The error is a [*ValidationError].
func NewSkillResult(f SkillResultFields) (SkillResult, error) {
	c := checks{of: "SkillResult"}
	c.add(f.SkillName == "", "skill_name: required")
	c.add(f.ToolName == "", "tool_name: required")
	c.add(f.DurationMS < 0 || math.IsNaN(f.DurationMS) || math.IsInf(f.DurationMS, 0), "duration_ms: expected 0 or more, got %v", f.DurationMS)
	data, err := freeze(f.OutputData)
	c.add(err != nil, "output_data: %v", err)
	changes := make([]map[string]any, len(f.ResourceChanges))
	for i, change := range f.ResourceChanges {
		var err error
		changes[i], err = freezeMap(change)
		c.add(err != nil || change == nil, "resource_changes[%d]: expected a JSON object", i)
	}
	if err := c.err(); err != nil {
		return SkillResult{}, err
	}
	f.OutputData, f.ResourceChanges = data, changes
	if f.Error != nil {
		own := *f.Error
		f.Error = &own
	}
	return SkillResult{f}, nil
}

// Fields returns a copy of what it is made of.
func (r SkillResult) Fields() SkillResultFields {
	f := r.f
	f.OutputData, _ = freeze(f.OutputData)
	if f.Error != nil {
		own := *f.Error
		f.Error = &own
	}
	changes := make([]map[string]any, len(f.ResourceChanges))
	for i := range changes {
		changes[i] = thaw(f.ResourceChanges[i])
	}
	f.ResourceChanges = changes
	return f
}

// MarshalJSON implements [json.Marshaler].
func (r SkillResult) MarshalJSON() ([]byte, error) { return json.Marshal(r.f) }

// UnmarshalJSON implements [json.Unmarshaler]. It fills a new value only.
func (r *SkillResult) UnmarshalJSON(data []byte) error {
	if !reflect.ValueOf(r.f).IsZero() {
		return errFrozen
	}
	var f SkillResultFields
	if err := decode("SkillResult", data, []string{"skill_name", "tool_name", "success"}, &f); err != nil {
		return err
	}
	made, err := NewSkillResult(f)
	*r = made
	return err
}
