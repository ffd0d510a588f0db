package docker

import (
	"testing"

	"github.com/hotcell/hotcell/internal/testutil"
)

// TestRunsc is what concerns the runtime, under gVisor's. No row of it differs; those of whole calls that do stand in
// integration, beside the ones that they replace.
func TestRunsc(t *testing.T) {
	testutil.Require(t, "runsc")
	r := newReal(t)
	r.runtime = "runsc"
	for name, test := range map[string]func(*testing.T){
		"HostileImage": r.hostileImage, "NotExecutable": r.notExecutable, "StuckOutput": r.stuckOutput,
		"Witness": r.witness, "StartOutOfMemory": r.startOutOfMemory, "KillWithoutEngine": r.killWithoutEngine,
		"ShortcutSandbox": r.shortcutSandbox,
		"Conformance":     r.conformance,
	} {
		t.Run(name, test)
	}
}
