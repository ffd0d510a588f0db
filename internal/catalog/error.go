package catalog

import "errors"

// Code is a documented error code of the skills API.
type Code string

// The codes.
const (
	SkillNotFound     Code = "SKILL_NOT_FOUND"
	SkillFileNotFound Code = "SKILL_FILE_NOT_FOUND" // reading: an unknown skill, an unlisted path and an over-cap file are one
	FileNotFound      Code = "FILE_NOT_FOUND"       // the same on the routes of custom skills
	FileTooLarge      Code = "FILE_TOO_LARGE"       // 422 on writes, 413 on reads of custom skills
	ValidationError   Code = "VALIDATION_ERROR"
	SkillInvalid      Code = "SKILL_INVALID" // with Errors and Warnings
	Forbidden         Code = "FORBIDDEN"
	NameTaken         Code = "SKILL_NAME_TAKEN"
	NameReserved      Code = "SKILL_NAME_RESERVED"
	NoPrevious        Code = "NO_PREVIOUS_VERSION"
	LimitReached      Code = "SKILL_LIMIT_REACHED"
	TooManyFiles      Code = "TOO_MANY_FILES"
	TotalSize         Code = "TOTAL_SIZE_EXCEEDED"
	DescriptionLong   Code = "DESCRIPTION_TOO_LONG"

	AgentNotFound    Code = "AGENT_NOT_FOUND"
	AgentTaken       Code = "AGENT_NAME_TAKEN"
	AgentInUse       Code = "AGENT_IN_USE" // live tokens are bound to it
	ToolNotFound     Code = "TOOL_NOT_FOUND"
	ApprovalNotFound Code = "APPROVAL_NOT_FOUND"
	ApprovalDecided  Code = "APPROVAL_DECIDED" // or expired
	VersionNotFound  Code = "VERSION_NOT_FOUND"
	BundleInvalid    Code = "BUNDLE_INVALID"      // an upload that is no bundle, with Errors
	Conflict         Code = "PRECONDITION_FAILED" // If-Match names another state than the current one
)

// Error is an error that is fit to be answered. Everything else that a catalog returns is for the log alone.
type Error struct {
	Code             Code
	Message          string
	Errors, Warnings []Finding
}

// Error returns "CODE: message".
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Is reports whether target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	var t *Error
	return errors.As(target, &t) && t.Code == e.Code
}
