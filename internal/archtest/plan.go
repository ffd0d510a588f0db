package archtest

import "maps"

// plan is what the rules compare the code with.
type plan struct {
	folders      []string            // at the top
	floors       map[string]int      // by package
	testOnly     map[string]bool     // packages that tests alone import
	edges        map[string][]string // imports on the same floor
	only         map[string][]string // packages that import nothing else of the module
	reach        map[string][]string // programs that contain nothing else, however indirectly, but the standard library
	dependencies []dependency
	renames      map[string]string // files that rename what need not keep its name after a loss of power, and why not
}

// dependency is a module of others, or a part of one, and where it may be imported.
type dependency struct {
	path   string
	homes  []string // packages; none: tests alone
	reason string
}

// The floors. A package imports from floors below its own.
const (
	floorWords    = 0 // vocabularies; standard library only
	floorContract = 1 // contracts and values; never import one another
	floorCompile  = 2 // pure: policy and workload to a sandbox's spec
	floorAdapter  = 3 // each the only home of its dependency
	floorExecutor = 4 // the supervisor and what configures it: contracts only
	floorWiring   = 5 // puts the supervisor and its adapters together; knows no door
	floorDoor     = 5 // each speaks to a Handler, never to the executor
	floorProgram  = 6 // wires everything; imported by nobody
)

// The largest function and file outside tests, in lines.
const (
	maxFunction = 80
	maxFile     = 400
)

// hotcell is this module's plan. A new package gets a floor here, a new dependency a row with its home and the reason.
func hotcell() plan {
	return plan{
		folders: []string{"cmd", "deploy", "docs", "executor", "images", "integration", "internal", "policies", "sandbox", "scripts"},
		floors:  floors(),
		testOnly: map[string]bool{
			"internal/archtest": true, "internal/testutil": true, "internal/testutil/engineproxy": true, "internal/testutil/registry": true,
			"internal/testutil/collector": true, "sandbox/sandboxtest": true, "integration/fleet": true,
		},
		edges: map[string][]string{
			"internal/control":        {"internal/a2e"},
			"internal/trace":          {"internal/a2e"},
			"internal/skills":         {"policies"},
			"internal/skills/bundled": {"internal/skills"},
			"executor":                {"executor/admission", "executor/relay"},
			"internal/front":          {"internal/a2ehost", "internal/mcphost", "internal/a2ahost", "internal/rest", "internal/console"},
			"internal/console":        {"internal/console/chart"},
			"internal/engine/agent":   {"internal/engine"},
			"internal/engine/js":      {"internal/engine"},
			"sandbox/docker":          {"sandbox/cgroup"},
			"sandbox/oci":             {"sandbox/cgroup"},
			"sandbox/kubernetes":      {"internal/gate"},
			"integration/bench":       {"integration/rig", "executor/embed"},
			"integration/kubernetes":  {"integration/rig"},
		},
		only: map[string][]string{
			"internal/a2ehost": {"internal/a2e", "internal/control", "internal/cleanup", "internal/auth", "internal/catalog"},
			"internal/rest":    {"internal/a2e", "internal/control", "internal/cleanup", "internal/auth", "internal/catalog"},
			"internal/a2ahost": {"internal/a2e", "internal/control", "internal/cleanup", "internal/auth", "internal/catalog"},
			"internal/mcphost": {"internal/a2e", "internal/control", "internal/cleanup", "internal/auth", "internal/catalog"},
			"internal/console": {"internal/a2e", "internal/control", "internal/cleanup", "internal/auth", "internal/catalog", "internal/console/chart"},
		},
		reach: map[string][]string{
			"cmd/hotcell-runner": {"internal/runner", "internal/wall", "internal/cleanup", "internal/gate", "internal/seal"},
		},
		dependencies: dependencies(),
		renames: map[string]string{
			"cmd/hotcell/init.go":                    "a new skill is its author's to keep",
			"integration/daemonjson/register.go":     "for tests",
			"integration/hostile/skillbomb/files.go": "runs in a cell",
			"internal/a2ehost/listen.go":             "sockets",
			"internal/install/install.go":            "within a stage, which is nobody's to find again",
			"internal/install/publish.go":            "moves folders in two ways, and syncs them itself",
			"sandbox/oci/cache.go":                   "what is not there is made again",
			"sandbox/oci/root.go":                    "links files of trees that are in the cache",
			"sandbox/oci/folder.go":                  "no cell lives longer than its host",
		},
	}
}

func floors() map[string]int {
	all := map[string]int{
		"internal/a2e":        floorWords,
		"internal/calculator": floorWords,
		"internal/clever":     floorWords,
		"internal/wall":       floorWords,
		"internal/cleanup":    floorWords,
		"internal/control":    floorWords,
		"internal/trace":      floorWords,
		"internal/fileset":    floorWords,
		"internal/engineapi":  floorWords,
		"internal/pattern":    floorWords,
		"internal/durable":    floorWords,
		"internal/seal":       floorWords,
		"internal/outflow":    floorWords,
		"internal/recent":     floorWords,

		"sandbox":                 floorContract,
		"images":                  floorContract,
		"policies":                floorContract,
		"internal/skills":         floorContract,
		"internal/skills/bundled": floorContract,
		"internal/skills/watch":   floorAdapter,
		"internal/catalog":        floorContract,
		"internal/audit":          floorContract,
		"internal/auth":           floorContract,
		"internal/credentials":    floorContract,
		"internal/llm":            floorContract,

		"policies/compile": floorCompile,
		"sandbox/demands":  floorCompile,
		"internal/service": floorCompile,

		"sandbox/cgroup":        floorAdapter,
		"sandbox/docker":        floorAdapter,
		"sandbox/fake":          floorAdapter,
		"sandbox/sandboxtest":   floorAdapter,
		"sandbox/warm":          floorAdapter,
		"sandbox/oci":           floorAdapter,
		"sandbox/kubernetes":    floorAdapter,
		"internal/gate":         floorAdapter,
		"images/docker":         floorAdapter,
		"images/layout":         floorAdapter,
		"internal/install":      floorAdapter,
		"internal/instance":     floorAdapter,
		"internal/metrics":      floorAdapter,
		"internal/runner":       floorAdapter,
		"internal/egress":       floorAdapter,
		"internal/secrets":      floorAdapter,
		"internal/store":        floorAdapter,
		"internal/engine":       floorAdapter,
		"internal/engine/agent": floorAdapter,
		"internal/engine/js":    floorAdapter,
		"internal/broker":       floorAdapter,
		"internal/vault":        floorAdapter,
		"internal/tools":        floorAdapter,
		"internal/oidc":         floorAdapter,

		"executor":           floorExecutor,
		"executor/admission": floorExecutor,
		"executor/relay":     floorExecutor,
		"internal/config":    floorExecutor,
		"internal/curator":   floorExecutor,
		"internal/doctor":    floorExecutor,
		"internal/telemetry": floorExecutor,

		"internal/host": floorWiring,

		"executor/embed": floorProgram,
	}
	for _, name := range helpers() {
		all[name] = floorWords
	}
	for _, name := range programs() {
		all[name] = floorProgram
	}
	maps.Copy(all, doors())
	return all
}

// doors are what the world speaks to.
func doors() map[string]int {
	return map[string]int{
		"internal/a2ehost":       floorDoor,
		"internal/rest":          floorDoor,
		"internal/mcphost":       floorDoor,
		"internal/a2ahost":       floorDoor,
		"internal/front":         floorDoor, // above the others, which it puts on one listener
		"internal/console":       floorDoor,
		"internal/console/chart": floorWords,
	}
}

// helpers are for tests, and know nothing of hotcell.
func helpers() []string {
	return []string{
		"internal/archtest",
		"internal/testutil",
		"internal/testutil/collector",
		"internal/testutil/engineproxy",
		"internal/testutil/registry",
	}
}

// programs wire everything; nobody imports them.
func programs() []string {
	return []string{
		"cmd/hotcell",
		"cmd/hotcell-engine",
		"cmd/hotcell-runner",
		"integration",
		"integration/bench",
		"integration/console",
		"integration/daemonjson",
		"integration/doors",
		"integration/faults",
		"integration/fleet",
		"integration/hostile",
		"integration/hostile/skillbomb",
		"integration/kubernetes",
		"integration/kubernetes/faults",
		"integration/load",
		"integration/rig",
		"integration/scale",
		"integration/skills/sdk",
		"integration/skills/word-count",
		"integration/tally",
	}
}

func dependencies() []dependency {
	return []dependency{
		{"github.com/a2aproject/a2a-go/v2", []string{"internal/a2ahost", "integration/bench", "integration/doors"}, "A2A is spoken in one place; its tests are the official client"},
		{"github.com/modelcontextprotocol/go-sdk", []string{"internal/tools", "internal/mcphost", "cmd/hotcell", "integration/bench", "integration/doors"},
			"operators' MCP servers are spoken to in one place, MCP clients in another; tests of the program and of all doors are its clients"},
		{"github.com/docker/docker", []string{"sandbox/docker", "images/docker", "integration/bench"},
			"the Engine API's types stay behind the two adapters; the benchmark repeats the bare sequence to compare with"},
		{"github.com/containerd/errdefs", []string{"sandbox/docker", "images/docker"},
			"the engine client's errors are told apart where they come out of it"},
		{"github.com/containerd/cgroups/v3", []string{"sandbox/cgroup"}, "one package makes control groups of version 2"},
		{"github.com/opencontainers/runtime-spec", []string{"sandbox", "policies/compile", "sandbox/demands", "sandbox/docker", "sandbox/fake", "sandbox/kubernetes", "sandbox/oci", "sandbox/sandboxtest", "sandbox/warm"},
			"the contract carries a runtime spec: one package writes it, drivers read it"},
		{"k8s.io/client-go", []string{"sandbox/kubernetes", "integration/bench"}, "clusters are spoken to in one place; the benchmark repeats the bare sequence to compare with"},
		{"k8s.io/api", []string{"sandbox/kubernetes", "integration/bench"}, "clusters are spoken to in one place; the benchmark repeats the bare sequence to compare with"},
		{"k8s.io/apimachinery", []string{"sandbox/kubernetes", "integration/bench"}, "clusters are spoken to in one place; the benchmark repeats the bare sequence to compare with"},
		{"k8s.io/klog/v2", []string{"sandbox/kubernetes"}, "what client-go would print is dropped there"},
		{"github.com/google/go-containerregistry", []string{"images/layout", "internal/testutil/registry"}, "one package reads images that come without an engine; one is a registry for tests"},
		{"github.com/opencontainers/image-spec", []string{"sandbox/docker"}, "the engine client wants a platform in these words"},
		{"github.com/moby/profiles/seccomp", []string{"policies/compile"},
			"one package decides which system calls a cell may make"},
		{"github.com/santhosh-tekuri/jsonschema/v6", []string{"internal/skills", "internal/engine/agent"},
			"arguments and results are validated in one place, with one set of bounds; in the cell a model is told what its answer lacks"},
		{"golang.org/x/text", []string{"internal/engine/agent"}, "the validator's faults are put into words, in English"},
		{"github.com/openai/openai-go/v3", []string{"internal/engine/agent", "internal/broker", "integration/skills/sdk"},
			"models are spoken to in one place, inside the cell; tests of the broker are its clients"},
		{"github.com/anthropics/anthropic-sdk-go", []string{"internal/engine/agent", "internal/broker", "integration/skills/sdk"},
			"models are spoken to in one place, inside the cell; tests of the broker are its clients"},
		{"github.com/grafana/sobek", []string{"internal/engine/js"}, "one package runs JavaScript"},
		{"golang.org/x/crypto/x509roots/fallback", []string{"cmd/hotcell-engine"}, "an empty image has no certificates: the program brings them"},
		{"github.com/goccy/go-yaml", []string{"internal/skills", "internal/config", "policies"},
			"YAML is read where a file is a contract and errors need their positions: bundles, configuration, the limits in both"},
		{"github.com/fsnotify/fsnotify", []string{"internal/skills/watch"}, "one package hears of changes on disk"},
		{"github.com/danielgtaylor/huma/v2", []string{"internal/rest"}, "one package describes what it serves over HTTP"},
		{"github.com/spf13/cobra", []string{"cmd/hotcell"}, "the command line is the program's business"},
		{"github.com/spf13/pflag", []string{"cmd/hotcell"}, "cobra's flags"},
		{"github.com/knadh/koanf", []string{"internal/config"}, "file, environment and flags are layered in one place"},
		{"github.com/charmbracelet/lipgloss", []string{"cmd/hotcell"}, "only the program has a terminal"},
		{"github.com/schollz/progressbar/v3", []string{"cmd/hotcell"}, "only the program has a terminal"},
		{"golang.org/x/term", []string{"cmd/hotcell"}, "only the program has a terminal"},
		{"github.com/oklog/ulid/v2", []string{"executor"}, "call ids are made where calls are accepted"},
		{"modernc.org/sqlite", []string{"internal/store"}, "the journal is the only one who speaks SQL"},
		{"github.com/jackc/pgx/v5", []string{"internal/store"}, "the journal is the only one who speaks SQL"},
		{"github.com/pressly/goose/v3", []string{"internal/store"}, "the journal is the only one who speaks SQL"},
		{"github.com/prometheus/client_golang", []string{"internal/metrics"}, "others report through small observer interfaces"},
		{"github.com/go-logr/logr", []string{"internal/telemetry", "sandbox/kubernetes"}, "the libraries behind the exporter log through it, and those behind the driver are kept quiet with it"},
		{"go.opentelemetry.io/otel", []string{"internal/telemetry"}, "others tell of spans through a small interface"},
		{"go.opentelemetry.io/proto/otlp", []string{"internal/testutil/collector"}, "tests are collectors"},
		{"google.golang.org/protobuf", []string{"internal/testutil/collector"}, "tests are collectors"},
		{"golang.org/x/net", []string{"policies", "internal/console", "internal/console/chart"}, "names of hosts are brought into one form in one place; tests read pages as browsers do"},
		{"github.com/yuin/goldmark", []string{"internal/console"}, "instructions are drawn on one page"},
		{"github.com/microcosm-cc/bluemonday", []string{"internal/console"}, "what is drawn of instructions is held to a few elements"},
		{"github.com/aymanbagabas/go-udiff", []string{"internal/console"}, "what a change of a custom skill changes is shown line by line"},
		{"golang.org/x/sync", []string{"internal/rest", "sandbox/docker", "sandbox/oci"},
			"an owner waits for its goroutines; calls at the same time share one fill or one pull"},
		{"golang.org/x/sys", []string{"cmd/hotcell", "internal/a2ehost", "internal/install", "sandbox/cgroup", "sandbox/docker", "sandbox/oci", "images/layout", "integration/hostile", "integration/hostile/skillbomb"},
			"a peer that hung up is told from one that closed one direction by poll(2); control groups ring eventfds; a pipe that is written past an engine has so much room; cells without an " +
				"engine are waited for by pidfd; folders that processes share have locks, and are exchanged at once; attacks speak to the kernel"},
		{"github.com/coreos/go-oidc/v3", []string{"internal/oidc"}, "one package checks the signed tokens of an issuer"},
		{"github.com/go-jose/go-jose/v4", nil, "it signs tokens in tests; what checks them is go-oidc's"},
		{"filippo.io/age", []string{"internal/vault"}, "one package encrypts what is kept"},
		{"github.com/google/go-cmp", nil, "it compares in tests and panics by design"},
		{"github.com/chromedp/chromedp", nil, "tests of the console drive a browser"},
		{"github.com/chromedp/cdproto", nil, "the browser's protocol, of the same makers"},
		{"go.uber.org/goleak", nil, "it looks for leaks after tests"},
		{"pgregory.net/rapid", nil, "it generates inputs for tests"},
	}
}
