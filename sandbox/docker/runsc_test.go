package docker

import (
	"testing"

	"github.com/hotcell/hotcell/internal/testutil"
)

func TestRunsc(t *testing.T) {
	testutil.Require(t, "runsc")
	r := newReal(t)
	r.runtime = "runsc"
	for name, test := range map[string]func(*testing.T){
		"HostileImage": r.hostileImage, "NotExecutable": r.notExecutable, "StuckOutput": r.stuckOutput,
		"Conformance": r.conformance,
	} {
		t.Run(name, test)
	}
}
