package executor

import (
	"fmt"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

// A cell of which the driver knows that it is not there is nobody's from then on. One of which that is not known is looked for, and is
// on record when the supervisor ends before it was found.
func TestUnmade(t *testing.T) {
	full := fmt.Errorf("no node takes it: %w", sandbox.ErrUnavailable)
	for _, tt := range []struct {
		name string
		err  error
		left int
	}{
		{"known to be gone", sandbox.Unmade(full), 0},
		{"known to be gone, in other words", fmt.Errorf("create cell: %w", sandbox.Unmade(full)), 0},
		{"unknown", full, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, sh, who := graveyard(t, well)
			sh.SetFaults(fake.Faults{Create: func(*sandbox.Spec) error { return tt.err }})
			answer, _ := b.ask(t.Context(), sent("free", "r1"))
			if answer.Error == nil || answer.Error.Reason() != a2e.ReasonEngineUnavailable {
				t.Errorf("answered %+v", answer)
			}
			if none := b.held.none(); none != (tt.left == 0) {
				t.Errorf("no cell is held: %v", none)
			}
			if err := b.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			if got := who.named(); len(got) != tt.left {
				t.Errorf("on record as left behind: %v, want %d", got, tt.left)
			}
		})
	}
}
