package runner

import (
	"io"
	"path/filepath"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

// How long the runner waits. None of these bounds a call: the supervisor's deadline does.
const (
	lingerGrace = time.Second            // from the result to SIGTERM, and from SIGTERM to SIGKILL
	drainGrace  = 500 * time.Millisecond // for the pipes of a dead skill to end
	killGrace   = 2 * time.Second        // for all that was killed to be gone
	doneGrace   = 2 * time.Second        // for the supervisor to let go after the exit line
	hangupGrace = 500 * time.Millisecond // for the life to end after the supervisor is gone
)

// Config is what a runner is given.
type Config struct {
	Args   wall.Args
	Env    []string  // of the skill's process, KEY=VALUE
	Stdin  io.Reader // the wall's inbound side
	Stdout io.Writer // the wall's outbound side
	Root   string    // put in front of the cell's fixed directories; empty in a cell
}

// path returns where one of the cell's fixed paths lies.
func (c Config) path(fixed string) string { return filepath.Join(c.Root, fixed) }
