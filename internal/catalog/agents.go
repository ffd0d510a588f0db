package catalog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Agent is an agent that calls skills. What it may use is decided by the allowlist of its skill tool.
type Agent struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"` // the agent_id of tokens and handshakes
	Principal int64     `json:"principal_id"`
	Tools     []Toggle  `json:"tools"`
	Created   time.Time `json:"created_at"`
	Updated   time.Time `json:"updated_at"`
	Revision  int64     `json:"-"` // grows with each write: the ETag
}

// Toggle is a tool of an agent and whether it is on.
type Toggle struct {
	Tool    string `json:"tool"`
	Enabled bool   `json:"enabled"`
}

// ToolInfo is a tool of this host.
type ToolInfo struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Writes      bool            `json:"writes"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	Recommends  []string        `json:"recommends_skills"` // slugs, in declaration order
}

// SkillToolName is the tool that reads skills; SettingAllowed is its setting.
const (
	SkillToolName  = "skill"
	SettingAllowed = "allowed_skills"
)

// Override is the settings of a tool of one agent, or the defaults of a principal. Allowed is nil where nothing is set.
type Override struct {
	Allowed  *[]string
	Source   string // agent, principal or default: where Allowed comes from
	Revision int64
}

// Agents are the agents and what they may use. Who sees the principal of an agent may read it, who controls that principal may
// write it: AgentNotFound else, and Forbidden for writes of what can be seen. Admins may read and write all agents.
type Agents interface {
	List(ctx context.Context, who a2e.Caller) ([]Agent, error)
	Show(ctx context.Context, who a2e.Caller, id int64) (*Agent, error)
	// ID finds an agent by its name.
	ID(ctx context.Context, who a2e.Caller, name string) (int64, error)
	Create(ctx context.Context, who a2e.Caller, principal int64, name string) (*Agent, error)
	Delete(ctx context.Context, who a2e.Caller, id, match int64) error

	// Tools lists what tools there are.
	Tools(ctx context.Context, who a2e.Caller) ([]ToolInfo, error)
	// Override reads the settings of a tool of an agent; id 0 is the default of principal.
	Override(ctx context.Context, who a2e.Caller, id, principal int64, tool string) (*Override, error)
	SetOverride(ctx context.Context, who a2e.Caller, id, principal int64, tool string, match int64, allowed *[]string) (*Override, error)

	// SkillOn, SkillOff, SetTool are the three flows (S4, "Bundled skills on the agent tools UI"): a skill on switches the skill
	// tool on and writes that one slug; a skill off removes that one slug; a parent tool off strips the slugs that no other
	// enabled tool recommends too.
	SkillOn(ctx context.Context, who a2e.Caller, id, match int64, slug string) (*Agent, error)
	SkillOff(ctx context.Context, who a2e.Caller, id, match int64, slug string) (*Agent, error)
	SetTool(ctx context.Context, who a2e.Caller, id, match int64, tool string, on bool) (*Agent, error)
}

// Approval is a write that an agent asked for and that a person decides about.
type Approval struct {
	ID        string          `json:"id"`
	Principal int64           `json:"principal_id"`
	Agent     string          `json:"agent"`
	Tool      string          `json:"tool"`   // manage_skill
	Action    string          `json:"action"` // create, update or delete
	Skill     string          `json:"skill"`
	Arguments json.RawMessage `json:"arguments"` // null in a list that would be too long
	State     string          `json:"state"`     // pending, approved, denied, expired, failed
	Why       string          `json:"why,omitempty"`
	Created   time.Time       `json:"created_at"`
	Expires   time.Time       `json:"expires_at"`
	Decided   time.Time       `json:"decided_at,omitzero"`
	DecidedBy int64           `json:"decided_by,omitempty"`
}

// Approvals are decided by who controls the principal, and never by an agent. ApprovalNotFound, Forbidden, ApprovalDecided.
type Approvals interface {
	List(ctx context.Context, who a2e.Caller, state string) ([]Approval, error)
	Show(ctx context.Context, who a2e.Caller, id string) (*Approval, error)
	// Approve carries the write out. Where that fails, the state is failed and Why says why.
	Approve(ctx context.Context, who a2e.Caller, id string) (*Approval, error)
	Deny(ctx context.Context, who a2e.Caller, id, why string) (*Approval, error)
}
