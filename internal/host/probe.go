package host

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/fileset"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

// ProbeSkill is a skill that looks around in a cell of an image, and says what it sees. All that it needs is in the runner.
func ProbeSkill(name, image string, limit time.Duration) *skills.Skill {
	const file, text = "README", "hotcell looks at a cell from within.\n"
	sum := sha256.Sum256([]byte(text))
	files := fileset.New()
	files.Add(file, fileset.Entry{Size: int64(len(text)), Mode: 0o644, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}})
	return &skills.Skill{
		Name: name, Version: "1.0.0", Status: skills.Published,
		Run: skills.Run{Image: image, Kind: "command", Command: wall.ProbeCommand()},
		Policy: policies.Policy{Timeout: limit, Limits: policies.Limits{
			Memory: 64 * policies.Mi, CPU: policies.Core / 2, PIDs: 48, Files: 128, Workspace: policies.Mi, Out: policies.Mi,
		}},
		Bundle: skills.Bundle{FS: files, Digest: hex.EncodeToString(sum[:]), Files: 1, Bytes: int64(len(text))},
	}
}

// OneSkill is a catalog of one.
func OneSkill(skill *skills.Skill) skills.Catalog { return oneSkill{skill} }

type oneSkill struct{ skill *skills.Skill }

func (o oneSkill) List() []*skills.Skill { return []*skills.Skill{o.skill} }

func (o oneSkill) Find(name string) (*skills.Skill, string) {
	if name == o.skill.Name {
		return o.skill, ""
	}
	return nil, ""
}
