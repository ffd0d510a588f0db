package wall

// The places inside a cell. All are fixed, so that a skill can rely on them.
const (
	DirSkill     = "/skill"          // the bundle, read-only
	DirWorkspace = "/workspace"      // tmpfs: cwd, HOME and TMPDIR
	DirInput     = "/workspace/in"   // files handed in with the call
	DirOut       = "/out"            // tmpfs: its files become artifacts
	DirRun       = "/run/hotcell"    // tmpfs: request.json, secrets/
	DirRunner    = "/hotcell"        // the runner's volume, read-only
	RunnerPath   = "/hotcell/runner" // PID 1
	RequestPath  = "/run/hotcell/request.json"
	EnvRequest   = "HOTCELL_REQUEST"      // names RequestPath
	EnvOut       = "HOTCELL_OUT"          // names DirOut
	EnvInput     = "HOTCELL_INPUT"        // names DirInput
	EnvCorrelate = "SKILL_CORRELATION_ID" // the request's correlation_id, set when it has one
)
