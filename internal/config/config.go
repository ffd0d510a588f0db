package config

import (
	"path/filepath"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// Config is everything that an operator can set.
//
// To add a field: add it here with a comment, its default to [Default], one line to the table in fields.go, its bounds
// to validate.go, and it works in the file, the environment and `hotcell config show`.
type Config struct {
	Listen  string   // HTTP door, host:port; on loopback unless callers are known
	Hosts   []string // what a Host header may name beside loopback and the address that was connected to
	Socket  string   // A2E door, path of the unix socket
	DataDir string   // what hotcell keeps

	Skills     Skills
	Sandbox    Sandbox
	Kubernetes Kubernetes
	Pool       Pool
	Policy     Policy
	Images     Images
	Store      Store
	Audit      Audit
	Tools      Tools
	A2E        A2E
	A2A        A2A
	LLM        LLM
	Secrets    Secrets
	Auth       Auth
	Quotas     Quotas

	Approvals Approvals
	Admin     Admin
	Readiness Readiness
	Telemetry Telemetry
	Log       Log
}

// Admin is the second listener, for those who run hotcell.
type Admin struct {
	Listen string // host:port for metrics and profiles; "": there is none
}

// Readiness says how hotcell finds out whether it can make cells.
type Readiness struct {
	Canary Age // how often a cell is made to see; 0: never
}

// Approvals says how writes of skills that agents ask for are decided about.
type Approvals struct {
	Expire Age  // how long a request waits
	Delete bool // agents may ask for deletions, too
}

// Skills says where skills are found.
type Skills struct {
	Dirs    []string          // folders of bundles, the first that has a name wins
	Bundled bool              // also offer the skills in this program, after those and what is installed
	Plugins map[string]string // more folders of bundles, last, each the source of its name
}

// Sandbox says what makes cells, and how many.
type Sandbox struct {
	Driver    string         // auto, docker, oci or kubernetes
	Runtime   string         // an OCI runtime that the engine or the host knows; "": the default
	MaxCells  int            // cells at once; 0: from the processors
	MaxMemory policies.Bytes // of all cells at once; 0: from the engine's memory

	AcceptUnenforced []string // controls that cells may be without where the driver cannot enforce them
}

// Kubernetes is the cluster of the driver of that name.
type Kubernetes struct {
	Kubeconfig    string // a file; "": KUBECONFIG, ~/.kube/config or the pod's own account
	Context       string // of the file; "": its current one
	Namespace     string // of cells
	RunnerImage   string // with the program that comes first in each cell; must be set for the driver
	NetworkPolicy string // unknown, or enforced: this cluster enforces NetworkPolicy

	Tenants map[string]Tenant // whose cells have a namespace of their own, by name
}

// The words of kubernetes.network_policy.
const (
	NetworkPolicyUnknown  = "unknown"
	NetworkPolicyEnforced = "enforced"
)

// Unenforced are the words of sandbox.accept_unenforced.
func Unenforced() []string { return []string{"seccomp", "network", "paths", "mounts", "pids"} }

// Pool says how many cells are started ahead of their calls.
type Pool struct {
	Max    int // cells that wait at once; 0: none
	Idle   Age // a kind of cell that no call asked for so long waits no more
	MaxAge Age // a cell that waited so long is replaced
}

// Policy is what the operator allows a call at most.
type Policy struct {
	Limits  policies.Limits  // 0: no bound of the operator's
	Network policies.Network // hosts that skills may ask for; none: no network
	LLM     LLMPolicy
	Secrets []string // which skills get which secrets: SKILL:NAME, * is any text in both
	Images  ImagePolicy
	Custom  CustomPolicy
}

// CustomPolicy is what custom skills may be.
type CustomPolicy struct {
	Code []string // principals whose skills may carry code: alice, group:team, * for any text; none: nobody's
}

// A2A sets what the agent card can't know.
type A2A struct {
	URL string // of the HTTP door as clients reach it; "": as their requests have it
}

// A2E sets what the protocol leaves open.
type A2E struct {
	Errors      string // failed calls answer with a resp, or with a base message of type error
	EmbedEvents bool   // put the events into the result too
	SessionIdle Age    // an HTTP session without a stream and without a request ends after so long
}

// InstalledSkills is the folder of the skills that an operator uploaded.
func (c *Config) InstalledSkills() string { return filepath.Join(c.DataDir, "installed") }

// OperatorPolicy is the configuration's part in narrowing a call's policy.
func (c *Config) OperatorPolicy() policies.Policy {
	return policies.Policy{
		Limits: c.Policy.Limits, Runtime: c.Sandbox.Runtime, Network: c.Policy.Network,
		LLM: &policies.LLM{Permit: c.Policy.LLM.Inject},
	}
}

// Default returns the configuration that holds with no file at all. root chooses the system's folders over the user's.
// Without home (an absolute path) an ordinary user has no default data folder, which [Config.Validate] reports;
// runtimeDir is XDG_RUNTIME_DIR, and without it the socket is in the data folder.
func Default(root bool, home, runtimeDir string) *Config {
	c := &Config{
		Listen:     "127.0.0.1:8765",
		Socket:     "/run/hotcell/hotcell.sock",
		DataDir:    "/var/lib/hotcell",
		Skills:     Skills{Dirs: []string{"skills"}, Bundled: true, Plugins: map[string]string{}},
		Sandbox:    Sandbox{Driver: "auto", AcceptUnenforced: []string{}},
		Kubernetes: Kubernetes{Namespace: "hotcell", NetworkPolicy: NetworkPolicyUnknown, Tenants: map[string]Tenant{}},
		Pool:       Pool{Max: 8, Idle: Age(5 * time.Minute), MaxAge: Age(10 * time.Minute)},
		Policy:     Policy{LLM: LLMPolicy{Inject: []string{policies.InjectBroker}}, Secrets: []string{"*:*"}, Images: ImagePolicy{Registries: []string{"*"}, Digests: []string{"*"}, Pull: images.PullMissing}, Custom: CustomPolicy{Code: []string{}}},
		Images:     Images{Defaults: map[string]string{"python": "hotcell/python:3", "sh": "hotcell/python:3"}, Keep: 7 * Day, Auth: Logins{}},
		Store:      Store{Sync: "normal", Keep: Keep{Calls: 30 * Day, Events: 7 * Day, Artifacts: 7 * Day, Requests: true, Max: 10 * policies.Gi}},
		Audit:      Audit{Keep: 400 * Day, Max: policies.Gi},
		Tools:      Tools{MCP: map[string]MCPServer{}},
		A2E:        A2E{Errors: "resp", EmbedEvents: true, SessionIdle: Age(10 * time.Minute)},
		LLM:        LLM{Providers: []llm.Provider{defaultProvider()}, BaseURLs: []string{}},
		Secrets:    Secrets{},
		Hosts:      []string{},
		Auth:       Auth{Mode: AuthNone, OIDC: OIDC{Principal: "sub", Groups: "groups", Admins: []string{}}},

		Approvals: Approvals{Expire: Day},
		Readiness: Readiness{Canary: Age(30 * time.Second)},
		Telemetry: Telemetry{OTLP: OTLP{Headers: map[string]string{}, Sample: 1}},
		Log:       Log{Format: "text", Level: LogLevelAuto},
	}
	if root {
		return c
	}
	c.DataDir, c.Socket = "", ""
	if home != "" {
		c.DataDir = filepath.Join(home, ".local/share/hotcell")
		c.Socket = filepath.Join(c.DataDir, "hotcell.sock")
	}
	if runtimeDir != "" {
		c.Socket = filepath.Join(runtimeDir, "hotcell.sock")
	}
	return c
}

// defaultProvider is not available, and no error, where the variable isn't set.
func defaultProvider() llm.Provider {
	return llm.Provider{
		Name: "openai", Kind: llm.OpenAI, BaseURL: "https://api.openai.com/v1", Credential: "env:OPENAI_API_KEY",
		Models: []string{"*"}, Model: "gpt-4o-mini", Skills: llm.AllSkills(),
	}
}
