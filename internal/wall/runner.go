package wall

import "strings"

// The places inside a cell. All are fixed, so that a skill can rely on them.
const (
	DirSkill     = "/skill"          // the bundle, read-only
	DirWorkspace = "/workspace"      // tmpfs: cwd, HOME and TMPDIR
	DirInput     = "/workspace/in"   // files handed in with the call
	DirOut       = "/out"            // tmpfs: its files become artifacts
	DirRun       = "/run/hotcell"    // tmpfs: request.json, secrets/
	DirRunner    = "/hotcell"        // the runner's volume, read-only
	DirLibrary   = "/hotcell/lib"    // in it: modules for skills
	RunnerPath   = "/hotcell/runner" // PID 1
	RequestPath  = "/run/hotcell/request.json"
	LeasePath    = "/run/hotcell/lease.json" // the [Lease] without its secrets, where the call has one
	DirSecrets   = "/run/hotcell/secrets"    // the lease's secrets, one file each
	DirEngine    = "/hotcell-engine"         // the engine's volume, read-only, in cells that need it
	EnginePath   = "/hotcell-engine/engine"
	EnvRequest   = "HOTCELL_REQUEST"      // names RequestPath
	EnvOut       = "HOTCELL_OUT"          // names DirOut
	EnvInput     = "HOTCELL_INPUT"        // names DirInput
	EnvTools     = "HOTCELL_TOOLS_URL"    // http://127.0.0.1:PORT of the tool gate, set where tools are granted
	EnvToken     = "HOTCELL_TOKEN"        // the cell's own token, set where anything is granted
	EnvCorrelate = "SKILL_CORRELATION_ID" // the request's correlation_id, set when it has one

	// EnvTraceParent and EnvTraceState say where in a trace the skill runs, when its request does.
	EnvTraceParent = "TRACEPARENT"
	EnvTraceState  = "TRACESTATE"
)

// TraceParent reports whether s has the form of a W3C traceparent of version 00.
func TraceParent(s string) bool {
	return len(s) == 55 && s[:3] == "00-" && s[35] == '-' && s[52] == '-' && strings.Trim(s, "0123456789abcdef-") == ""
}
