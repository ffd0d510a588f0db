package main

import (
	"runtime"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/fileset"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/policies/compile"
	"github.com/hotcell/hotcell/sandbox"
)

// printSpec prints the OCI runtime-spec of a cell for the skill. What only a real call knows (ids, the image's content
// and its volumes) stands in it as zeros.
func (a *app) printSpec(skill *skills.Skill, effective policies.Effective, image string) error {
	zeros := strings.Repeat("0", 64)
	command := skill.Run.Command
	if skill.Run.Frames && len(command) == 0 {
		command = []string{"(the command of " + image + ")"}
	}
	spec, err := compile.Compile(effective, compile.Workload{
		CallID: strings.Repeat("0", 26), Skill: skill.Name, Instance: strings.Repeat("0", 16), Host: "this",
		Expires: time.Unix(0, 0).UTC(), UID: compile.MinUID,
		Image: sandbox.Image{ID: "sha256:" + zeros}, OS: "linux", Arch: runtime.GOARCH,
		Command: command, Frames: skill.Run.Frames,
		Bundle: sandbox.Tree{Name: "bundle", Digest: skill.Bundle.Digest, Target: wall.DirSkill, FS: skill.Bundle.FS},
		Runner: sandbox.Tree{Name: "runner", Digest: zeros, Target: wall.DirRunner, FS: fileset.New()},
	})
	if err != nil {
		return usagef("skill %q: %w", oneLine(skill.Name, 80), err)
	}
	return a.printJSON(spec.OCI)
}
