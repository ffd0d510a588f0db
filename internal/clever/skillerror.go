package clever

import (
	"encoding/json"
	"errors"
	"io/fs"
	"reflect"
	"strings"
)

// SkillError is the payload of an error of a skill. It never changes.
type SkillError struct{ f SkillErrorFields }

// SkillErrorFields is what a [SkillError] is made of.
type SkillErrorFields struct {
	ErrorType SkillErrorType `json:"error_type"`
	Message   string         `json:"message"`    // for people
	Details   map[string]any `json:"details"`    // diagnostic context; nil is an empty one
	SkillName string         `json:"skill_name"` // where it comes from
	ToolName  *string        `json:"tool_name"`  // nil: no tool's
}

// NewSkillError makes a SkillError. The error is a [*ValidationError].
func NewSkillError(f SkillErrorFields) (SkillError, error) {
	c := checks{of: "SkillError"}
	c.add(!f.ErrorType.Valid(), "error_type: %.64q is not one of %v", f.ErrorType, SkillErrorTypes())
	c.add(f.SkillName == "", "skill_name: required")
	details, err := freezeMap(f.Details)
	c.add(err != nil, "details: %v", err)
	if details == nil {
		details = map[string]any{}
	}
	f.Details, f.ToolName = details, pointer(f.ToolName)
	if err := c.err(); err != nil {
		return SkillError{}, err
	}
	return SkillError{f}, nil
}

// Fields returns a copy of what it is made of.
func (e SkillError) Fields() SkillErrorFields {
	f := e.f
	f.Details, f.ToolName = thaw(f.Details), pointer(f.ToolName)
	return f
}

// Type returns the category.
func (e SkillError) Type() SkillErrorType { return e.f.ErrorType }

// Message returns the text for people.
func (e SkillError) Message() string { return e.f.Message }

// With returns a copy with one more detail. The value must be a JSON value; another one is left out.
func (e SkillError) With(key string, value any) SkillError {
	f := e.Fields()
	if own, err := freeze(value); err == nil {
		if f.Details == nil {
			f.Details = map[string]any{}
		}
		f.Details[key] = own
	}
	return SkillError{f}
}

// MarshalJSON implements [json.Marshaler].
func (e SkillError) MarshalJSON() ([]byte, error) { return json.Marshal(e.f) }

// UnmarshalJSON implements [json.Unmarshaler]. It fills a new value only.
func (e *SkillError) UnmarshalJSON(data []byte) error {
	if !reflect.ValueOf(e.f).IsZero() {
		return errFrozen
	}
	var f SkillErrorFields
	if err := decode("SkillError", data, []string{"error_type", "message", "skill_name"}, &f); err != nil {
		return err
	}
	made, err := NewSkillError(f)
	*e = made
	return err
}

// MapToolError turns any error into a SkillError of a skill, and of a tool unless that is "". What has a type goes by it:
// permission, then validation; a [ValueError] goes by its words, "cycle" before "not found"; anything else is about the
// activation of a tool where it says so, and about its execution otherwise. Case does not matter. A nil err maps as well.
func MapToolError(err error, skillName, toolName string) SkillError {
	f := SkillErrorFields{ErrorType: errorType(err), Details: map[string]any{}, SkillName: skillName}
	if err != nil {
		f.Message = err.Error()
	}
	if f.SkillName == "" {
		f.SkillName = "unknown" // an error payload always names a skill
	}
	if toolName != "" {
		f.ToolName = &toolName
	}
	return SkillError{f}
}

func errorType(err error) SkillErrorType {
	if err == nil {
		return ToolExecutionFailure
	}
	var (
		permission *PermissionError
		validation *ValidationError
		value      *ValueError
	)
	text := strings.ToLower(err.Error())
	switch {
	case errors.As(err, &permission), errors.Is(err, fs.ErrPermission):
		return PermissionDenied
	case errors.As(err, &validation):
		return ValidationFailure
	case errors.As(err, &value):
		switch {
		case strings.Contains(text, "cycle"):
			return CycleDetected
		case strings.Contains(text, "not found"):
			return SkillNotFound
		}
		return ResolutionFailure
	case strings.Contains(text, "activation"):
		return ToolActivationFailure
	}
	return ToolExecutionFailure
}
