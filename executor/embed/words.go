package embed

import (
	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/internal/a2e"
)

// The words of a plugin are those of package executor, so that one plugin fits both.
type (
	// Plugin serves skills in this process: the SkillPlugin of A2E. It is safe for concurrent use.
	Plugin = executor.Plugin
	// SkillDefinition is a skill's manifest. Name, description and input_schema are what callers need most.
	SkillDefinition = executor.SkillDefinition
	// Execution is one call of a plugin's skill. Numbers in its arguments may be json.Number.
	Execution = executor.Execution
	// SkillResult is what a skill gives.
	SkillResult = executor.SkillResult
	// Caller is who calls.
	Caller = executor.Caller
	// LLMConfig names a model and its provider.
	LLMConfig = executor.LLMConfig
	// SkillError is a failure with a code.
	SkillError = executor.SkillError
	// ErrorCode is one of the eleven codes of a failure.
	ErrorCode = executor.ErrorCode
)

// What calls are made of.
type (
	// Request asks for one run of a skill.
	Request = a2e.CallRequest
	// Response ends a call: with Data, and with Error too where it failed.
	Response = a2e.CallResponse
	// Event is something that a skill says while it runs.
	Event = a2e.Event
	// Header is what each message starts with. An id that is left out is made up.
	Header = a2e.Header
)

// The codes that a plugin has a use for.
const (
	CodeSkillError      = executor.CodeSkillError
	CodeRuntimeError    = executor.CodeRuntimeError
	CodeSchemaViolation = executor.CodeSchemaViolation
	CodeUnauthorized    = executor.CodeUnauthorized
)

// The kinds of events.
const (
	EventProgress = executor.EventProgress
	EventArtifact = executor.EventArtifact
	EventLog      = executor.EventLog
	EventStatus   = executor.EventStatus
)

// Errorf makes a [SkillError], which is the answer to a call as it is.
func Errorf(code ErrorCode, format string, args ...any) *SkillError {
	return executor.Errorf(code, format, args...)
}
