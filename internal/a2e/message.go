package a2e

import "encoding/json"

// Version is the protocol version that this package speaks and announces.
const Version = "1.0"

// The message types. Those that start with "skill/" are S1's five; the others are A2E's base layer.
const (
	TypeDiscoverRequest   = "skill/discover/req"
	TypeDiscoverResponse  = "skill/discover/resp"
	TypeCallRequest       = "skill/call/req"
	TypeCallResponse      = "skill/call/resp"
	TypeEvent             = "skill/event"
	TypeHandshakeRequest  = "handshake/req"
	TypeHandshakeResponse = "handshake/resp"
	TypePing              = "ping"
	TypePong              = "pong"
	TypeShutdown          = "shutdown"
	TypeError             = "error"
)

// Header starts every message: its type, an id (ours are ULIDs or hex UUIDs), the protocol version and the time of
// sending in seconds since the Unix epoch.
type Header struct {
	Type    string  `json:"type"`
	ID      string  `json:"id"`
	Version string  `json:"version"`
	TS      float64 `json:"ts"`
}

// Message is any message: a struct that embeds [Header].
type Message interface{ header() *Header }

func (h *Header) header() *Header { return h }

// DiscoverRequest asks for the skills that match. Tags are alternatives, categories are alternatives; a skill must match
// both lists where both are given.
type DiscoverRequest struct {
	Header
	FilterTags       []string `json:"filter_tags"`
	FilterCategories []string `json:"filter_categories"`
}

// DiscoverResponse lists the matching skills.
type DiscoverResponse struct {
	Header
	ReqID  string       `json:"req_id"`
	Skills []Definition `json:"skills"`
}

// CallRequest asks for one run of a skill.
//
// Timeout is nil when the request named none, so that a skill's own time-out can apply; it is in whole seconds.
// Streaming is nil when absent, which means true: see [CallRequest.Streams].
type CallRequest struct {
	Header
	Name          string         `json:"name"`
	Arguments     map[string]any `json:"arguments"`
	CorrelationID string         `json:"correlation_id"`
	Timeout       *int           `json:"timeout,omitempty"`
	Streaming     *bool          `json:"streaming,omitempty"`
	LLMOverride   *LLMConfig     `json:"llm_override"`
	Metadata      map[string]any `json:"metadata"`
}

// Streams reports whether events are to be sent while the skill runs.
func (r *CallRequest) Streams() bool { return r.Streaming == nil || *r.Streaming }

// CallResponse ends a call. After a failure both Error and Data are set (protocols decision 6), so that clients that
// look at only one of them see it.
type CallResponse struct {
	Header
	ReqID     string  `json:"req_id"`
	Name      string  `json:"name"`
	Data      *Result `json:"data"`
	Error     *Error  `json:"error,omitempty"`
	CreatedAt float64 `json:"created_at"`
}

// The four event kinds of S1.
const (
	KindProgress = "progress"
	KindArtifact = "artifact"
	KindLog      = "log"
	KindStatus   = "status"
)

// Event is something that a running skill says. Seq starts at 0 and has no gaps within one call.
type Event struct {
	Header
	Kind  string         `json:"kind"`
	ReqID string         `json:"req_id"`
	Data  map[string]any `json:"data"`
	Seq   int            `json:"seq"`
}

// The states of a skill on the wire.
const (
	StatusCreated   = "Created"
	StatusBlocked   = "Blocked"
	StatusPublished = "Published"
	StatusArchived  = "Archived"
)

// Definition is a skill's manifest as it is discovered.
//
// Arguments is a list of argument names or null, never an object. Credentials never appear: see [LLMConfig].
type Definition struct {
	Name           string          `json:"name"`
	Version        string          `json:"version"`
	Description    string          `json:"description"`
	Triggers       []string        `json:"triggers"`
	Tools          []any           `json:"tools"`
	Toolkits       []any           `json:"toolkits"`
	Status         string          `json:"status"`
	InputSchema    json.RawMessage `json:"input_schema"`
	OutputSchema   json.RawMessage `json:"output_schema"`
	Instructions   *string         `json:"instructions"`
	FilePath       *string         `json:"file_path,omitempty"`
	LLMConfig      *LLMConfig      `json:"llm_config,omitempty"`
	Arguments      []string        `json:"arguments"`
	WhenToUse      string          `json:"when_to_use"`
	ArgumentHint   string          `json:"argument_hint"`
	Source         string          `json:"source"`
	Category       *string         `json:"category"`
	Tags           []string        `json:"tags"`
	MaxTurns       *int            `json:"max_turns"`
	TimeoutSeconds *int            `json:"timeout_seconds"`
	Icon           *string         `json:"icon,omitempty"`
	Metadata       map[string]any  `json:"metadata,omitempty"`
}

// LLMConfig names a model and its provider. Credentials that arrive in it live only as long as their call; what is
// emitted always carries an empty object in their place.
type LLMConfig struct {
	ProviderName        string         `json:"provider_name"`
	ProviderCredentials map[string]any `json:"provider_credentials"`
	ProviderConfig      map[string]any `json:"provider_config"`
	IsDefault           bool           `json:"is_default"`
}

// Result is the outcome of a call. Duration is in milliseconds, rounded half up.
type Result struct {
	Success    bool    `json:"success"`
	Data       any     `json:"data"`
	Summary    any     `json:"summary"`
	Truncated  bool    `json:"truncated,omitempty"`
	Error      *string `json:"error,omitempty"`
	ErrorCode  *string `json:"error_code,omitempty"`
	DurationMS int64   `json:"duration_ms"`
	Events     []Event `json:"events,omitempty"`
}

// HandshakeRequest opens a session.
type HandshakeRequest struct {
	Header
	AgentID   string   `json:"agent_id"`
	AgentCaps []string `json:"agent_caps"`
	AuthToken string   `json:"auth_token"`
}

// HandshakeResponse accepts or refuses a session.
type HandshakeResponse struct {
	Header
	ReqID        string       `json:"req_id"`
	SessionID    string       `json:"session_id"`
	AcceptedCaps []Capability `json:"accepted_caps"`
	MaxParallel  int          `json:"max_parallel"`
	OK           bool         `json:"ok"`
	Reason       string       `json:"reason"`
}

// Capability is one accepted capability of a handshake.
type Capability struct {
	Capability string         `json:"capability"`
	Enabled    bool           `json:"enabled"`
	Metadata   map[string]any `json:"metadata"`
}

// Ping asks whether the host is alive.
type Ping struct{ Header }

// Pong answers a [Ping].
type Pong struct {
	Header
	ReqID         string  `json:"req_id"`
	UptimeSeconds float64 `json:"uptime_seconds"`
}

// Shutdown asks the host to finish what is in flight, at most Timeout seconds long, and to stop. It has no answer.
type Shutdown struct {
	Header
	Timeout float64 `json:"timeout"`
}

// ErrorMessage reports a failure that has no call to answer: bad JSON, an unknown type, a refused discovery.
type ErrorMessage struct {
	Header
	ReqID          string         `json:"req_id"`
	Code           Code           `json:"code"`
	Message        string         `json:"message"`
	Detail         map[string]any `json:"detail"`
	Retryable      bool           `json:"retryable"`
	CapabilityName string         `json:"capability_name"`
}
