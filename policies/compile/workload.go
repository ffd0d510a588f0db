package compile

import (
	"time"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// AnyToken stands for a cell's token in what a [Key] is made of, as [MinUID] stands for any user id.
const AnyToken = "hc-00000000000000000000000000000000"

// The range of user ids of cells. Each live cell has one of its own, so that no two share per-user quotas.
const (
	MinUID = 65600
	MaxUID = 66599
)

// Workload is what a cell is to run and for whom.
type Workload struct {
	CallID   string    // a ULID; of a cell that waits for its call, one of its own
	Waits    bool      // the cell is started ahead of its call, which nobody knows yet
	Skill    string    // its name
	Instance string    // the supervisor's id, [a-z0-9]
	Host     string    // the host's boot id
	Expires  time.Time // whoever owns the cell, it is garbage after this
	Tenant   string    // whose cell it is, where tenants are kept apart; else ""
	UID      uint32    // from MinUID to MaxUID; also the gid

	Image      sandbox.Image
	OS, Arch   string   // the image's, GOOS and GOARCH words
	Entrypoint []string // the image's own, used with Frames
	Cmd        []string

	Command []string     // what the runner starts; with Frames it replaces the image's own where it is not empty
	Frames  bool         // the image speaks the wall itself: no runner
	Bundle  sandbox.Tree // appears at /skill
	Runner  sandbox.Tree // appears at /hotcell; unused with Frames
	Engine  sandbox.Tree // appears at /hotcell-engine; without FS: the cell has none
	Env     []string     // KEY=VALUE beside the fixed ones, which it cannot replace; the cell's token is in here
	Ports   []wall.Port  // loopback ports of the cell that lead out through the tunnel

	Prestart bool // the runner starts the command before the request; without meaning with Frames
}
