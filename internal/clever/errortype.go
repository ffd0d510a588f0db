package clever

import (
	"encoding/json"
	"fmt"
	"slices"
)

// SkillErrorType is a category of skill errors.
type SkillErrorType string

// The categories.
const (
	SkillNotFound         SkillErrorType = "skill_not_found"         // the requested skill does not exist
	ResolutionFailure     SkillErrorType = "resolution_failure"      // skill resolution failed (missing include, etc.)
	CycleDetected         SkillErrorType = "cycle_detected"          // circular dependency in skill includes
	ToolActivationFailure SkillErrorType = "tool_activation_failure" // a tool could not be activated
	ToolExecutionFailure  SkillErrorType = "tool_execution_failure"  // a tool's execution failed at run time
	ValidationFailure     SkillErrorType = "validation_error"        // input or output does not match its schema
	PermissionDenied      SkillErrorType = "permission_denied"       // the operation is not permitted
)

// SkillErrorTypes returns all categories.
func SkillErrorTypes() []SkillErrorType {
	return []SkillErrorType{
		SkillNotFound, ResolutionFailure, CycleDetected, ToolActivationFailure, ToolExecutionFailure, ValidationFailure, PermissionDenied,
	}
}

// Valid reports whether t is one of the seven.
func (t SkillErrorType) Valid() bool { return slices.Contains(SkillErrorTypes(), t) }

// UnmarshalJSON implements [json.Unmarshaler]: it refuses what is none of the seven.
func (t *SkillErrorType) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if got := SkillErrorType(s); got.Valid() {
		*t = got
		return nil
	}
	return fmt.Errorf("%.64q is not one of %v", s, SkillErrorTypes())
}
