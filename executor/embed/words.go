package embed

import "github.com/hotcell/hotcell/internal/a2e"

// The words of a plugin.
type (
	// Plugin serves skills in this process: the SkillPlugin of A2E. It is safe for concurrent use.
	Plugin = a2e.Plugin
	// SkillDefinition is a skill's manifest. Name, description and input_schema are what callers need most.
	SkillDefinition = a2e.Definition
	// Execution is one call of a plugin's skill. Numbers in its arguments may be json.Number.
	Execution = a2e.Execution
	// SkillResult is what a skill gives.
	SkillResult = a2e.Result
	// Caller is who calls.
	Caller = a2e.Caller
	// LLMConfig names a model and its provider.
	LLMConfig = a2e.LLMConfig
	// SkillError is a failure with a code.
	SkillError = a2e.Error
	// ErrorCode is one of the eleven codes of a failure.
	ErrorCode = a2e.Code
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
	CodeSkillError      = a2e.SkillError
	CodeRuntimeError    = a2e.RuntimeError
	CodeSchemaViolation = a2e.SchemaViolation
	CodeUnauthorized    = a2e.Unauthorized
)

// The kinds of events.
const (
	EventProgress = a2e.KindProgress
	EventArtifact = a2e.KindArtifact
	EventLog      = a2e.KindLog
	EventStatus   = a2e.KindStatus
)

// Errorf makes a [SkillError], which is the answer to a call as it is.
func Errorf(code ErrorCode, format string, args ...any) *SkillError {
	return a2e.Errorf(code, format, args...)
}
