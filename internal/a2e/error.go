package a2e

import (
	"errors"
	"fmt"
)

// Code is one of the eleven error codes of the source documents.
type Code string

// The codes. The first three are S1's SkillErrorCode, the others the protocol's own.
const (
	UnknownSkill    Code = "unknown_skill"
	SkillError      Code = "skill_error"
	RuntimeError    Code = "runtime_error"
	ParseError      Code = "parse_error"
	InvalidMessage  Code = "invalid_message"
	SchemaViolation Code = "schema_violation"
	Timeout         Code = "timeout"
	OutOfMemory     Code = "out_of_memory"
	SandboxCrash    Code = "sandbox_crash"
	Unauthorized    Code = "unauthorized"
	VersionMismatch Code = "version_mismatch"
)

// Retryable reports whether a failure with this code is worth another try when nothing finer is known.
// runtime_error is not; a transient cause says so itself through [Error.Transient] (protocols decision 5).
func (c Code) Retryable() bool {
	switch c {
	case SkillError, Timeout, OutOfMemory, SandboxCrash:
		return true
	case UnknownSkill, RuntimeError, ParseError, InvalidMessage, SchemaViolation, Unauthorized, VersionMismatch:
		return false
	}
	return false
}

// Known reports whether c is one of the eleven.
func (c Code) Known() bool {
	switch c {
	case UnknownSkill, SkillError, RuntimeError, ParseError, InvalidMessage, SchemaViolation, Timeout, OutOfMemory, SandboxCrash,
		Unauthorized, VersionMismatch:
		return true
	}
	return false
}

// Reasons are hotcell's finer words, carried in detail.reason.
const (
	ReasonCancelled         = "cancelled"
	ReasonQueueFull         = "queue_full"
	ReasonQueueTimeout      = "queue_timeout"
	ReasonQuota             = "quota" // beside it detail.retry_after, in seconds
	ReasonDraining          = "draining"
	ReasonImageUnavailable  = "image_unavailable"
	ReasonEngineUnavailable = "engine_unavailable"
	ReasonStartFailed       = "start_failed"
	ReasonOutputLimit       = "output_limit"
	ReasonUnsupported       = "unsupported"
	ReasonBlocked           = "blocked"
	ReasonTruncated         = "truncated"
	ReasonSignal            = "signal"
	ReasonExit              = "exit"
	ReasonOutputSchema      = "output_schema"
	ReasonInternal          = "internal"
	ReasonDuplicateID       = "duplicate_id"
	ReasonSupervisorRestart = "supervisor_restart"
	ReasonOOMPressure       = "oom_pressure"
	ReasonToolUnavailable   = "tool_unavailable"
	ReasonNodeLost          = "node_lost"     // this and the next five: what a cluster did with a cell
	ReasonEvicted           = "evicted"       // also drained
	ReasonPreempted         = "preempted"     // by something more important
	ReasonCellDeleted       = "cell_deleted"  // by somebody else
	ReasonUnschedulable     = "unschedulable" // no node takes it
	ReasonClusterQuota      = "cluster_quota" // the cluster's own, of a namespace
)

// Error is the one error that crosses a front door: a code, a plain sentence and facts. It marshals as S1's transport
// error {code, message, retryable} with detail beside them.
type Error struct {
	Code      Code           `json:"code"`
	Message   string         `json:"message"`
	Retryable bool           `json:"retryable"`
	Detail    map[string]any `json:"detail,omitempty"`

	cause error
}

// Errorf makes an Error with the code's own retryable. A %w operand is kept for [errors.Is] and never shown as such.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Retryable: code.Retryable(), cause: errors.Unwrap(err)}
}

// Error returns "code: message".
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the cause, which stays inside the process.
func (e *Error) Unwrap() error { return e.cause }

// With adds a fact to the detail and returns e.
func (e *Error) With(key string, value any) *Error {
	if e.Detail == nil {
		e.Detail = map[string]any{}
	}
	e.Detail[key] = value
	return e
}

// Because sets detail.reason and returns e.
func (e *Error) Because(reason string) *Error { return e.With("reason", reason) }

// Reason returns detail.reason, or "".
func (e *Error) Reason() string {
	s, _ := e.Detail["reason"].(string)
	return s
}

// Transient marks e as worth another try and returns it.
func (e *Error) Transient() *Error { e.Retryable = true; return e }

// Permanent marks e as not worth another try and returns it.
func (e *Error) Permanent() *Error { e.Retryable = false; return e }

// AsError returns err as an *Error. What is not classified becomes a runtime_error with a plain sentence; its text stays
// in the cause, for the log alone.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: RuntimeError, Message: "internal error", Detail: map[string]any{"reason": ReasonInternal}, cause: err}
}
