package executor

import (
	"testing"

	"github.com/hotcell/hotcell/internal/control"
)

// Every pair of states is a row: the ones named may follow, no other.
func TestEveryPairOfStates(t *testing.T) {
	all := []control.State{control.Queued, control.Preparing, control.Starting, control.Running, control.Stopping,
		control.Succeeded, control.Failed, control.Canceled}
	allowed := map[[2]control.State]bool{
		{control.Queued, control.Preparing}:   true,
		{control.Queued, control.Failed}:      true,
		{control.Queued, control.Canceled}:    true,
		{control.Preparing, control.Starting}: true,
		{control.Preparing, control.Failed}:   true,
		{control.Preparing, control.Canceled}: true,
		{control.Starting, control.Running}:   true,
		{control.Starting, control.Stopping}:  true,
		{control.Running, control.Stopping}:   true,
		{control.Stopping, control.Succeeded}: true,
		{control.Stopping, control.Failed}:    true,
		{control.Stopping, control.Canceled}:  true,
	}
	for _, from := range all {
		for _, to := range all {
			if got, want := follows(from, to), allowed[[2]control.State{from, to}]; got != want {
				t.Errorf("%s to %s: %v, want %v", from, to, got, want)
			}
		}
		if from.Terminal() && len(forward[from]) > 0 {
			t.Errorf("%s is terminal and can be left", from)
		}
	}
}
