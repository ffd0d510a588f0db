package catalog

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Finding is one thing that is wrong with a skill.
type Finding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"` // error or warning
	Message  string `json:"message"`
	Path     string `json:"path,omitempty"`

	// Where it is, of bundles that were uploaded.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// File is an entry of a skill's listing.
type File struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// Summary is a skill in a list.
type Summary struct {
	Name, Slug, Description, Source string
	License                         string // "": none
	Digest                          string // of the bundle, as [Detail] has it
	Files                           int
	HasWarnings                     bool
	RequiredTools                   []string
	Version                         string
	Status                          string
	Principal                       int64 // that owns it; 0: shipped, so everybody's
}

// Detail is a skill as it can be read.
type Detail struct {
	Summary
	Compatibility string
	Metadata      map[string]string
	AllowedTools  string // as written
	Body          string // of SKILL.md, without its frontmatter
	Files         []File // SKILL.md first, then sorted
	Warnings      []Finding
	Frontmatter   map[string]any // of SKILL.md, as JSON
	Digest        string         // of the bundle: lower-case hex sha-256
	BundleFS      fs.FS          // the files as they are; immutable
}

// Entry is a skill that a caller may call: what doors make tools, cards and resources of.
type Entry struct {
	Definition  a2e.Definition
	ReadOnly    bool // it changes nothing outside of its cell
	Hosted      bool // it runs in this process, without a cell
	Shared      bool // everybody may see it: it is no principal's own
	Examples    []any
	InputModes  []string // media types; nil: by its schema
	OutputModes []string
	Annotations map[string]string // metadata of SKILL.md
}

// MaxRead is the most that is read of one file, in bytes.
const MaxRead = 50_000

// Reader is the read surface: shipped and custom skills. principal narrows it to what is shipped and one principal's own;
// 0 means all that the caller sees. A principal that the caller can't see leaves only what is shipped.
type Reader interface {
	// Skills lists them, by name.
	Skills(ctx context.Context, who a2e.Caller, principal int64) ([]Summary, error)
	// Skill fails with SkillNotFound.
	Skill(ctx context.Context, who a2e.Caller, slug string, principal int64) (*Detail, error)
	// File returns a file's content, verbatim, or fails with SkillFileNotFound.
	File(ctx context.Context, who a2e.Caller, slug, path string, principal int64) ([]byte, error)
	// Callable returns what the caller may see and its agent may use, hosted skills included, by name.
	Callable(ctx context.Context, who a2e.Caller) ([]Entry, error)
	// Version changes whenever any caller's answers may have changed.
	Version() uint64
	// Principals returns the principals that a caller can see: itself first, then its groups.
	Principals(ctx context.Context, who a2e.Caller) ([]Principal, error)
}

// Principal is who owns custom skills and agents.
type Principal struct {
	ID    int64  `json:"id"`
	Kind  string `json:"kind"` // user or group
	Name  string `json:"name"` // "" is whoever calls where nothing authenticates
	Role  string `json:"role"` // the caller's: owner of oneself; member, admin or owner of a group
	Write bool   `json:"write"`
}

// CustomSkill is a skill that lives in the store.
type CustomSkill struct {
	ID, Principal        int64
	Name, Description    string
	License              string // "": none
	Compatibility        string
	AllowedTools         *string // as written
	Metadata             map[string]string
	Body                 string
	Provenance           string // human or agent: who wrote it last
	CreatedBy, UpdatedBy int64
	Created, Updated     time.Time
	Files                []File // SKILL.md first, then sorted
	HasPrevious          bool
	Warnings             []Finding
	Revision             int64 // grows with each write: the ETag
}

// Draft is what a write of a custom skill says. A nil field was not given.
type Draft struct {
	Name, Description, License, Compatibility, Body *string
	AllowedTools                                    *string
	RevokeTools                                     bool // allowed_tools is null
	Metadata                                        *map[string]string
	Files                                           *map[string]string // sidecars by path; empty: remove all
	Provenance                                      string             // human or agent
}

// The caps of custom skills.
const (
	MaxCustom      = 25      // of one principal
	MaxSidecars    = 20      // of one skill, beside SKILL.md
	MaxCustomBytes = 200_000 // of one skill, all in all
	MaxDescription = 1024    // characters
)

// AnyRevision is a write whatever the current revision.
const AnyRevision = -1

// Custom is the custom skills. principal 0 is the caller's own. Reads of what the caller can't see fail with SkillNotFound,
// the list is empty; writes fail with Forbidden. match is the revision that a write replaces, or AnyRevision; another one
// fails with Conflict.
type Custom interface {
	List(ctx context.Context, who a2e.Caller, principal int64) ([]CustomSkill, error)
	Show(ctx context.Context, who a2e.Caller, principal int64, name string) (*CustomSkill, error)
	// Read returns a file of a custom skill: FileNotFound, FileTooLarge.
	Read(ctx context.Context, who a2e.Caller, principal int64, name, path string) ([]byte, error)
	// Allowlist returns the agents that a custom skill is on the allowlist of.
	Allowlist(ctx context.Context, who a2e.Caller, principal int64, name string) ([]AllowlistRow, error)
	Create(ctx context.Context, who a2e.Caller, principal int64, d Draft) (*CustomSkill, error)
	Update(ctx context.Context, who a2e.Caller, principal int64, name string, match int64, d Draft) (*CustomSkill, error)
	Restore(ctx context.Context, who a2e.Caller, principal int64, name string, match int64) (*CustomSkill, error)
	// Open returns a custom skill with what its files contain, and with what it was before its last change to who may write it.
	Open(ctx context.Context, who a2e.Caller, principal int64, name string) (*Opened, error)
	// Check returns what Create ("" as name) or Update would: the warnings of the skill that it would be, or why it is refused.
	// Nothing is written.
	Check(ctx context.Context, who a2e.Caller, principal int64, name string, d Draft) ([]Finding, error)
	// Delete removes the skill and its name from every allowlist of the principal, in one transaction.
	Delete(ctx context.Context, who a2e.Caller, principal int64, name string, match int64) (*Deleted, error)
}

// Opened is a custom skill with all that it consists of.
type Opened struct {
	CustomSkill
	Creator, Updater string // the names of who wrote it, "" where they are not known
	Content          Content
	Previous         *Content // nil: there is none, or the caller may not restore it
}

// AllowlistRow is an agent, or the default of a principal (id 0, no name), whose allowlist has a skill.
type AllowlistRow struct {
	ID    int64   `json:"id"`
	Name  *string `json:"name"`
	Scope string  `json:"scope"` // agent or principal
}

// Deleted is what a deletion touched.
type Deleted struct {
	Name             string
	Agents           []AllowlistRow
	PrincipalDefault bool
}

// Installer keeps the bundles that operators upload. Callers are admins.
type Installer interface {
	// Install takes over a bundle. kind is "zip" or "tar.gz"; nothing is unpacked before all of it was checked. Where name is
	// "" the bundle's own name counts. match is "" for whatever is there, "*" for any version, or the digest of the current one.
	// It fails with ValidationError (of the name), BundleInvalid, SkillInvalid, NameTaken (by a folder that was not installed),
	// LimitReached or Conflict.
	Install(ctx context.Context, name, kind string, archive io.Reader, match string) (*Installed, error)
	// Versions lists what is kept of a skill, the newest first, or fails with SkillNotFound.
	Versions(ctx context.Context, name string) ([]Installed, error)
	// Rollback makes another version that is kept the current one: SkillNotFound, VersionNotFound, Conflict.
	Rollback(ctx context.Context, name, version, match string) (*Installed, error)
	// Remove forgets a skill with all its versions: SkillNotFound, Conflict.
	Remove(ctx context.Context, name, match string) error
}

// Installed is one version of an uploaded bundle.
type Installed struct {
	Name     string    `json:"name"`
	Version  string    `json:"version"` // its own: v1, v2, ...
	Digest   string    `json:"digest"`  // of the bundle: the ETag
	Current  bool      `json:"current"`
	Uploaded time.Time `json:"uploaded"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Warnings []Finding `json:"warnings,omitempty"`
}
