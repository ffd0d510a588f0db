package policies

import "time"

// Bytes is an amount of memory or disk. It reads and prints binary units: "256Mi", "1Gi", "8192".
type Bytes int64

// MilliCPU is processor time in thousandths of a core. It reads and prints "1", "0.5", "500m".
type MilliCPU int64

// Limits bound one cell. A zero field is unset.
type Limits struct {
	Memory    Bytes    `yaml:"memory"`    // of all processes and tmpfs together, without swap
	CPU       MilliCPU `yaml:"cpu"`       //
	PIDs      int64    `yaml:"pids"`      // processes and threads, the runner's included
	Files     int64    `yaml:"files"`     // open files of one process
	Workspace Bytes    `yaml:"workspace"` // of the tmpfs at /workspace
	Out       Bytes    `yaml:"out"`       // of the tmpfs at /out and of artifacts
	Output    Bytes    `yaml:"output"`    // of events, plain output and the result, each
}

// Network is which network a cell has.
type Network struct {
	Allow []string // host:port patterns through the supervisor's proxy; empty is no network at all
}

// How a skill gets at a model's credential.
const (
	InjectBroker = "broker" // it does not: the broker adds the credential outside of the cell
	InjectFile   = "file"   // as a file, where the operator permits that
)

// LLM is a skill's wish for a model, or the operator's bounds on it.
type LLM struct {
	Provider string   // by its name in the configuration; "": the first one
	Model    string   // "": the provider's default
	Inject   string   // the skill's: InjectBroker or InjectFile; "" is InjectBroker
	Permit   []string // the operator's: the ways that are allowed; nil is InjectBroker alone
}

// Policy is what one party states. A zero field leaves the matter to the others.
type Policy struct {
	Limits  Limits
	Timeout time.Duration // 0: unset
	Network Network
	Runtime string   // a sandbox runtime by name; "" for the engine's default
	Writes  bool     // the skill may use tools that write
	LLM     *LLM     // nil: nothing said; of a skill: no model
	Secrets []string // of a skill: names of the operator's secrets that it wants as files
}

// Party is who stated a policy, for reports.
type Party string

// The parties, from the strongest to the weakest. Default stands in for a skill that states nothing.
const (
	Host     Party = "host"     // what this program allows at most
	Operator Party = "operator" // the configuration
	Default  Party = "default"  // what a call gets where nobody says
	Skill    Party = "skill"    // skill.yaml
	Caller   Party = "call"     // the request

	// Memory stands for the memory where that decides: workspace and out are cut to what it has room for.
	Memory Party = fieldMemory
)

// Clamp reports that a party asked for more than it gets.
type Clamp struct {
	Field   string `json:"field"`   // "limits.memory", "timeout"
	By      Party  `json:"by"`      // whose bound held
	Asker   Party  `json:"asker"`   // who wanted more
	Asked   string `json:"asked"`   // "1Gi"
	Granted string `json:"granted"` // "256Mi"
}

// Choice says which party decided a field of an [Effective] policy, for `hotcell policy explain`.
type Choice struct {
	Field string `json:"field"`
	Value string `json:"value"`
	From  Party  `json:"from"`
}

// Effective is the outcome: every field is set.
type Effective struct {
	Limits  Limits
	Timeout time.Duration
	Network Network
	Runtime string
	Writes  bool
	LLM     *LLM // nil: no model
	Secrets []string
	Choices []Choice
	Clamps  []Clamp
}
