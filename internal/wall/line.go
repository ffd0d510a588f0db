package wall

import "encoding/json"

// Protocol is the version of the wall that a runner announces in its ready line.
const Protocol = 1

// The lines.
const (
	TypeReady      = "cell/ready"       // out: the runner is up
	TypeFile       = "cell/file"        // in: a piece of an input file
	TypeLease      = "cell/lease"       // in: secrets and grants, before the request
	TypeRequest    = "skill/call/req"   // in: the request; the runner starts the skill
	TypeEvent      = "skill/event"      // out: progress, artifact, log, status
	TypeResult     = "skill/result"     // out: the terminal frame
	TypeExit       = "cell/exit"        // out: the runner's evidence of how the skill's process ended
	TypeDone       = "cell/done"        // in: the terminal frames have arrived, exit now
	TypeCancel     = "cell/cancel"      // in: stop politely
	TypeTool       = "cell/tool"        // out: the skill asks for a host tool
	TypeToolResult = "cell/tool-result" // in: the gate's answer to it
	TypeOpen       = "cell/open"        // out: a stream of the tunnel to one of the granted ports
	TypeData       = "cell/data"        // both: bytes of a stream
	TypeCredit     = "cell/credit"      // both: how many more bytes the other end may send
	TypeClose      = "cell/close"       // both: a stream ends
)

// MaxLine bounds every line but a request and a result, in bytes without the line feed. MaxLong bounds those two by
// default (limits.output).
const (
	MaxLine = 1 << 20
	MaxLong = 8 << 20
)

// FileChunk is the most raw bytes that one [File] line or one artifact event carries; base64 makes 4/3 of it.
const FileChunk = 256 << 10

// Ready is the runner's first line.
type Ready struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`
}

// File is a piece of an input file. Path is slash-separated, relative to /workspace/in, without "." or ".." elements.
// Chunks of one file come in order; Final closes it. Data is base64 in JSON.
type File struct {
	Type  string `json:"type"`
	Path  string `json:"path"`
	Mode  uint32 `json:"mode"` // permission bits
	Data  []byte `json:"data"`
	Final bool   `json:"final"`
}

// Event is what a skill says while it runs. Data must be an object.
type Event struct {
	Type string          `json:"type"`
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

// Result is the terminal frame. Success is a pointer so that a frame without it can be told from a failure: such a frame
// is malformed. Retryable false takes the caller's hope of another try away; true adds nothing.
type Result struct {
	Type      string          `json:"type"`
	Success   *bool           `json:"success"`
	Data      json.RawMessage `json:"data,omitempty"`
	Summary   json.RawMessage `json:"summary,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	Error     string          `json:"error,omitempty"`
	ErrorCode string          `json:"error_code,omitempty"`
	Retryable *bool           `json:"retryable,omitempty"`
}

// Exit is the runner's evidence. Exactly one of StartError, Signal and ExitCode says how the process ended: StartError is
// set when it could not be started at all (then ExitCode is 126 or 127), Signal is the number of the signal that ended it.
type Exit struct {
	Type       string `json:"type"`
	ExitCode   int    `json:"exit_code"`
	Signal     int    `json:"signal,omitempty"`
	StartError string `json:"start_error,omitempty"`
	StderrTail string `json:"stderr_tail,omitempty"` // valid UTF-8, at most 4 KiB
	UserMS     int64  `json:"user_ms"`
	SystemMS   int64  `json:"system_ms"`
	MaxRSSKB   int64  `json:"max_rss_kb"`
	OOMKills   int64  `json:"oom_kills"` // since the runner started, in its own cgroup; -1 when it cannot be read
	Cancelled  bool   `json:"cancelled,omitempty"`
	OutputOver string `json:"output_over,omitempty"` // which budget the skill exceeded, if one
	BadImage   bool   `json:"bad_image,omitempty"`   // with StartError: it is the image that is to blame
}

// Control is a line that carries nothing but its type: done, cancel.
type Control struct {
	Type string `json:"type"`
}
