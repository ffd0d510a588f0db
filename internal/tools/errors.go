package tools

import (
	"errors"
	"net/http"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/clever"
)

// maxError bounds a message that goes into a cell.
const maxError = 2 << 10

func denied(err error) error  { return &clever.PermissionError{Err: err} }
func invalid(err error) error { return &clever.ValidationError{Err: err} }

// mapped turns what went wrong with a tool into the protocol's payload. A nested call has a code of its own, which says more
// than its words.
func mapped(err error, skill, tool string) clever.SkillError {
	var e *a2e.Error
	if !errors.As(err, &e) {
		return clever.MapToolError(err, skill, tool)
	}
	details := map[string]any{"code": string(e.Code), "retryable": e.Retryable}
	if reason := e.Reason(); reason != "" {
		details["reason"] = reason
	}
	payload, bad := clever.NewSkillError(clever.SkillErrorFields{
		ErrorType: nestedType(e), Message: e.Message, Details: details, SkillName: skill, ToolName: &tool,
	})
	if bad != nil {
		return clever.MapToolError(err, skill, tool)
	}
	return payload
}

// nestedType is decision 16 of the protocols: what a call's code is called in the skill protocol.
func nestedType(e *a2e.Error) clever.SkillErrorType {
	switch e.Code {
	case a2e.UnknownSkill:
		return clever.SkillNotFound
	case a2e.SchemaViolation:
		return clever.ValidationFailure
	case a2e.Unauthorized:
		return clever.PermissionDenied
	case a2e.RuntimeError:
		if e.Retryable {
			return clever.ToolActivationFailure
		}
		return clever.ResolutionFailure
	case a2e.SkillError, a2e.Timeout, a2e.OutOfMemory, a2e.SandboxCrash, a2e.ParseError, a2e.InvalidMessage, a2e.VersionMismatch:
	}
	return clever.ToolExecutionFailure
}

// status is a payload's HTTP status.
func status(t clever.SkillErrorType) int {
	switch t {
	case clever.SkillNotFound, clever.ResolutionFailure:
		return http.StatusNotFound
	case clever.CycleDetected:
		return http.StatusConflict
	case clever.ToolActivationFailure:
		return http.StatusServiceUnavailable
	case clever.ValidationFailure:
		return http.StatusBadRequest
	case clever.PermissionDenied:
		return http.StatusForbidden
	case clever.ToolExecutionFailure:
	}
	return http.StatusInternalServerError
}

// cut shortens a text that may hold anything to n bytes of UTF-8.
func cut(s string, n int) string {
	if len(s) > n {
		s = s[:n] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
