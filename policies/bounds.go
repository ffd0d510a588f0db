package policies

import "time"

// What a call gets where nobody states a limit. Workspace and out are smaller where memory is: a quarter and an eighth of
// it at most.
const (
	DefaultMemory    = 256 * Mi
	DefaultCPU       = Core
	DefaultPIDs      = 64
	DefaultFiles     = 256
	DefaultWorkspace = 64 * Mi
	DefaultOut       = 32 * Mi
	DefaultOutput    = 8 * Mi
	DefaultTimeout   = 60 * time.Second
)

// What the program allows at most, whatever the operator says. Where the operator sets no limit a skill may ask for as
// much, so these are sized for one call on an ordinary server.
const (
	MaxMemory    = 4 * Gi
	MaxCPU       = 64 * Core
	MaxPIDs      = 4096
	MaxFiles     = 16384
	MaxWorkspace = MaxMemory / 2
	MaxOut       = MaxMemory / 2
	MaxOutput    = 64 * Mi // of the supervisor's memory, not of the cell's
	MaxTimeout   = 600 * time.Second
)

// What a cell needs at least. A party that states less is in error: a cell below these could not even run the runner,
// which takes some 8 MiB and 10 threads.
const (
	MinMemory    = 16 * Mi
	MinCPU       = Core / 100 // the kernel's shortest quota: 1 ms in 100 ms
	MinPIDs      = 16
	MinFiles     = 32
	MinWorkspace = 1 * Mi
	MinOut       = 1 * Mi
	MinOutput    = 4 * Ki
	MinTimeout   = time.Millisecond
)

// RunSize is the size of the tmpfs at /run/hotcell in a cell with that much memory: a sixteenth, at most 16Mi.
func RunSize(memory Bytes) Bytes { return min(16*Mi, memory/16) }

// ShmSize is the size of /dev/shm in a cell with that much memory: a 32nd, at most 8Mi.
func ShmSize(memory Bytes) Bytes { return min(8*Mi, memory/32) }

// ScratchSize is what workspace and out may have together in a cell with that much memory. A tmpfs is memory: with /run
// and /dev/shm they take half of it at most, so that a full disk is an error that a skill sees and not its death.
func ScratchSize(memory Bytes) Bytes { return memory/2 - RunSize(memory) - ShmSize(memory) }
