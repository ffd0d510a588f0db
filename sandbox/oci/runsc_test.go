package oci

import (
	"testing"

	"github.com/hotcell/hotcell/internal/testutil"
)

func TestRunsc(t *testing.T) {
	testutil.Require(t, "runsc")
	r := newReal(t)
	r.runtime = "runsc"
	for name, test := range map[string]func(*testing.T){
		"LeftBehind": r.leftBehind, "StuckOutput": r.stuckOutput, "GivenUp": r.givenUp, "Conformance": r.conformance,
	} {
		t.Run(name, test)
	}
}

func TestCrun(t *testing.T) {
	testutil.Require(t, "crun")
	r := newReal(t)
	r.runtime = "crun"
	for name, test := range map[string]func(*testing.T){
		"SharedRoot": r.sharedRoot, "LeftBehind": r.leftBehind, "LimitsUnset": r.limitsUnset, "StuckOutput": r.stuckOutput,
		"GivenUp": r.givenUp, "Conformance": r.conformance,
	} {
		t.Run(name, test)
	}
}
