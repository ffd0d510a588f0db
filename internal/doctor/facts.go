package doctor

import (
	"time"

	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// Facts is everything that an examination judges.
type Facts struct {
	Settings Settings
	Engine   *sandbox.EngineFacts // nil: none answered
	NoEngine string               // why not, with what to do
	Skew     time.Duration        // by how much the engine's clock is ahead of this host's
	Host     Host
	Images   []Image
	Pins     Pins
	Cell     Cell
	Direct   Direct // what there is to do without an engine
	NoGroups string // why there are no cgroups of hotcell's own around cells, from which the kernel's evidence comes
	Left     Left
	Cluster  Cluster // where cells are pods
}

// Settings are what the configuration says and this program has.
type Settings struct {
	Driver          string            // DriverOCI where cells are made without an engine: Engine is this host then; or DriverKubernetes
	Runtime         string            // sandbox.runtime
	MaxCells        int               // sandbox.max_cells
	MaxMemory       int64             // sandbox.max_memory
	Images          map[string]string // images.defaults: kind of script → reference
	NeverPull       bool              // policy.images.pull: never
	DataDir, Socket string
	References      []Reference // of the configuration, to secrets
	Runners         []string    // architectures whose runner is built in
	MinUID, MaxUID  int         // of cells
	DefaultMemory   int64       // of a call that says nothing
}

// Host is this host, as far as a process can see it without changing anything.
type Host struct {
	Name, Kernel string
	UID          int
	CorePattern  string
	SysResource  bool     // this process may have CAP_SYS_RESOURCE
	Users        []string // accounts within the range of the cells' ids
	Data         Folder
	Engine       Space // of the engine's own folder, where it is on this host
	Socket       Socket
}

// Folder is the data folder, or what there is of it.
type Folder struct {
	Exists   bool
	Mode     uint32 // permission bits
	UID      int    // its owner
	Writable bool   // by this process; where it does not exist, whether it can be made
	Why      string // why not
	Space    Space
}

// Space is what a file system has left. A zero Total is unknown.
type Space struct {
	Free, Total           uint64 // bytes
	FreeInodes, AllInodes uint64
}

// Socket is the place of the daemon's socket.
type Socket struct {
	Exists    bool // something is there
	IsSocket  bool
	Answers   bool   // somebody listens
	Usable    bool   // this process could listen there
	Why       string // why not
	OpenToAll bool   // everybody may connect
}

// Image is one of images.defaults.
type Image struct {
	Kind, Ref string
	ID        string // "" where it is not there
	Size      int64
	Why       string // why it is not to be had
	Failed    string // why nobody knows
	Refused   string // what policy.images says against it
}

// Cell is the one cell that looked at itself.
type Cell struct {
	Skipped string // why none ran
	Hint    string
	Image   string
	Failed  string // why it ended without an answer
	Took    time.Duration
	Probe   *wall.Probe
	Want    Limits
	Lacks   []string // the controls that it is without, as its record says
	Source  string   // where the facts about its end came from: one of sandbox's words for confidence
}

// Limits are those that the cell was started with.
type Limits struct {
	Memory, PIDs, CPU, Files int64 // bytes, processes, thousandths of a core, open files
}

// Left is what is on the engine and in the data folder.
type Left struct {
	Failed   string // why it is not known
	Things   []sandbox.Listed
	Direct   []sandbox.Listed // of the driver oci, where that is not the one
	Bytes    map[string]int64 // of volumes by name; nil: unknown
	Owners   []instance.Info
	NoOwners string // why they are not known
	At       time.Time

	DirectFailed string // why Direct is not known
}
