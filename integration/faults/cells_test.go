package faults

import (
	"github.com/hotcell/hotcell/integration/rig"
	"testing/fstest"
)

// frames is a skill without the runner, whose image runs a command.
func frames(name, command string) fstest.MapFS {
	return rig.PythonSkill(name, "run: {image: '"+rig.PythonImage+"', frames: true, command: "+command+"}\n", "")
}
