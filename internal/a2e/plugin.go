package a2e

import "context"

// Plugin serves skills in the process of the host, beside those that run in cells: S1's SkillPlugin. It is safe for concurrent
// use.
type Plugin interface {
	// ListSkills returns the manifests of the skills that a caller may see.
	ListSkills(ctx context.Context, who Caller) ([]Definition, error)
	// ExecuteSkill runs one of them. ctx ends at the call's deadline and when it is cancelled. An error that is an [*Error] is
	// the call's answer; another one is a skill_error with its text. Duration and events of the result are the host's.
	ExecuteSkill(ctx context.Context, who Caller, ex Execution) (*Result, error)
}

// Execution is one call of a plugin's skill: S1's name, arguments and context.
type Execution struct {
	Name          string
	Arguments     map[string]any // valid by the manifest's input schema
	CorrelationID string
	LLMOverride   *LLMConfig
	Metadata      map[string]any
	Streaming     bool
	// EmitEvent says something while the skill runs: progress, artifact, log or status. It fails once nobody listens any more.
	EmitEvent func(kind string, data map[string]any) error
}
