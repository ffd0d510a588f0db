package wall

import "encoding/json"

// Port is a loopback port of the cell whose connections go through the tunnel, to what the supervisor serves under Name.
type Port struct {
	Name   string // see [CheckPort], such as "llm.openai", "egress", "tools"
	Number int
}

// Model is which model a call uses, through the port "llm."+Provider. Config holds no credential and no URL.
type Model struct {
	Provider string          `json:"provider"`
	Kind     string          `json:"kind"`             // openai, anthropic, openai-compatible
	Model    string          `json:"model"`            // "": nobody says; the code of a skill chooses
	Config   json.RawMessage `json:"config,omitempty"` // temperature, max_tokens and the like
}

// ToolDef is a host tool that the call may use.
type ToolDef struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Writes      bool            `json:"writes,omitempty"`
}

// Tool is a skill's wish to use a host tool. ID is the cell's own, to tell the answers apart; at most 64 bytes.
type Tool struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ToolResult answers a [Tool]. Code is one of the protocol's error codes, "" for success.
type ToolResult struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data,omitempty"`
	Error   string          `json:"error,omitempty"`
	Code    string          `json:"code,omitempty"`
}

// Open starts a stream. The one who opens chooses ids that rise; the supervisor opens none.
type Open struct {
	Type string `json:"type"`
	ID   uint64 `json:"id"`
	Port string `json:"port"`
}

// Data carries bytes of a stream, at most as many as the receiver's credit allows and at most [DataChunk].
type Data struct {
	Type string `json:"type"`
	ID   uint64 `json:"id"`
	Data []byte `json:"data"`
}

// Credit allows the other end to send N more bytes on a stream. Both directions start with [Window].
type Credit struct {
	Type string `json:"type"`
	ID   uint64 `json:"id"`
	N    int64  `json:"n"`
}

// Close ends a stream's direction from its sender (Half) or the whole stream. Error says why where it is not an orderly end.
type Close struct {
	Type  string `json:"type"`
	ID    uint64 `json:"id"`
	Half  bool   `json:"half,omitempty"`
	Error string `json:"error,omitempty"`
}

// The tunnel's measures, in bytes.
const (
	Window    = 256 << 10 // what may be under way on one direction of a stream
	DataChunk = 64 << 10  // raw bytes of one [Data] line
)
