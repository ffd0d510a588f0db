package skills

import (
	"encoding/json"
	"io/fs"

	"github.com/hotcell/hotcell/policies"
)

// Status is where a skill stands. Only Published skills are discovered and called.
type Status string

// The states of S1.
const (
	Created   Status = "Created"
	Blocked   Status = "Blocked"
	Published Status = "Published"
	Archived  Status = "Archived"
)

// Skill is one skill as it was found. It is immutable after loading.
type Skill struct {
	Name         string // canonical: as in SKILL.md
	Version      string
	Description  string
	Instructions string // the body of SKILL.md
	License      string
	Triggers     []string
	WhenToUse    string
	ArgumentHint string
	Category     string
	Tags         []string
	Icon         string
	Examples     []any    // prompts, or mappings such as {arguments: {...}}
	InputModes   []string // media types, as declared
	OutputModes  []string
	Status       Status
	BlockedWhy   string // why Status is Blocked: names the missing thing
	Tools        []any  // as declared, with those of included skills behind its own
	Toolkits     []any
	ToolNames    []string // the names in Tools, each once
	ToolkitNames []string
	Resolved     []Tool // what a [Library] knows of them, those of toolkits included
	MaxTurns     int    // 0: none
	Metadata     map[string]any

	InputSchema  json.RawMessage // nil or {} when none
	OutputSchema json.RawMessage
	ArgNames     []string       // `arguments` as a list: names in order
	ArgDefaults  map[string]any // `arguments` as a map: defaults that the call's arguments override
	Input        *Schema        // compiled; nil when none
	Output       *Schema

	Run    Run
	Policy policies.Policy // limits, timeout, network, writes as skill.yaml states them

	Compatibility string            // of SKILL.md
	AllowedTools  string            // of SKILL.md, as written; a list is joined by blanks
	RequiredTools []string          // the legal names in AllowedTools, each once, at most 32: a declaration, never a grant
	Annotations   map[string]string // the metadata of SKILL.md alone

	Owner    *Owner // nil: it is shipped, so everybody's
	Source   string // the label of the source: "project", "installed", "core", a plugin's name, "user"
	Folder   string // the bundle's own folder; "" when it is not known
	Path     string // where it was found, for people
	Bundle   Bundle
	Findings []Finding
}

// Run says how a skill's process is started.
type Run struct {
	Image    string   // "" when the bundle names none: images.defaults by Kind
	Kind     string   // "python", "sh", "frames", "command", "js", "agent"
	Command  []string // argv; scripts are absolute paths below /skill
	Frames   bool     // the image speaks the wall itself and has no runner
	Prestart bool
}

// Bundle is a skill's folder. Digest is lower-case hex sha-256 over the names, modes and contents of its files.
type Bundle struct {
	FS     fs.FS
	Digest string
	Files  int
	Bytes  int64
}

// Severity grades a finding.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // the skill is Blocked; but for a nested value of SKILL.md's metadata, where others' skills are leniently read
	SeverityWarning Severity = "warning" // worth mending
)

// Finding is one thing that is wrong with a bundle. Line and Column start at 1; 0 is unknown.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"` // what to do, for people
	File     string   `json:"file"`           // relative to the bundle
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
	Path     string   `json:"path,omitempty"` // the key: "limits.memory"
	Softened bool     `json:"-"`              // the format says error, the lenient profile says warning
}

// Profile says how strictly SKILL.md is held to its format.
type Profile int

// The profiles. Lenient takes skills as they are found in the wild: what does no harm is a warning, and the skill loads.
// Strict keeps every severity of the format.
const (
	Lenient Profile = iota
	Strict
)

// Catalog finds skills. It is safe for concurrent use.
type Catalog interface {
	// List returns all skills, sorted by name, in every status.
	List() []*Skill
	// Find returns the skill of that name, or nil and the closest name ("" when none is close). Case is folded, blanks
	// around are dropped, and "_" stands for "-" where that is unambiguous.
	Find(name string) (skill *Skill, suggestion string)
}
