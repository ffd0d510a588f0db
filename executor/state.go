package executor

import "github.com/hotcell/hotcell/internal/control"

// forward says which states may follow which. A call passes Queued, Preparing, Starting, Running and Stopping in this
// order; it may leave for a terminal state only by way of Stopping, or straight from where no cell exists yet.
var forward = map[control.State][]control.State{
	control.Queued:    {control.Preparing, control.Failed, control.Canceled},
	control.Preparing: {control.Starting, control.Failed, control.Canceled},
	control.Starting:  {control.Running, control.Stopping},
	control.Running:   {control.Stopping},
	control.Stopping:  {control.Succeeded, control.Failed, control.Canceled},
}

// follows reports whether a call in state from may go to state to.
func follows(from, to control.State) bool {
	for _, s := range forward[from] {
		if s == to {
			return true
		}
	}
	return false
}
