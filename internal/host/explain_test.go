package host

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
)

// What a call of a skill gets is explained to consoles as it is to the command, and no value of a secret is in it.
func TestExplainer(t *testing.T) {
	t.Setenv("HOTCELL_TEST_TOKEN", "canary-0123456789")
	md := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: A skill.\n---\n\nDo it.\n")}
	}
	disk := fstest.MapFS{
		"big/SKILL.md": md("big"), "big/run.sh": {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"big/skill.yaml": {Data: []byte("run: {command: [sh, run.sh]}\nlimits: {memory: 1Gi}\nsecrets: [TOKEN]\nllm: {}\n")},
	}
	lib, err := skills.Load([]skills.Source{{Label: skills.SourceProject, FS: disk, Path: "skills"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default(false, t.TempDir(), "")
	cfg.Secrets = map[string]string{"TOKEN": "env:HOTCELL_TEST_TOKEN"}
	cfg.Policy.Secrets = []string{"big:TOKEN"}
	cfg.Policy.Limits.Memory = 128 << 20
	x := explainer{cfg, lib, slog.New(slog.DiscardHandler)}
	got, err := x.Explain(t.Context(), "Big")
	if err != nil {
		t.Fatal(err)
	}
	if got.Skill != "big" || got.Image == "" || got.Secrets != "TOKEN" || !strings.HasPrefix(got.Model, "refused: ") || len(got.Choices) == 0 {
		t.Errorf("%+v", got)
	}
	want := control.Clamp{Field: "limits.memory", By: "operator", Asker: "skill", Asked: "1Gi", Granted: "128Mi"}
	if len(got.Clamps) == 0 || got.Clamps[0] != want {
		t.Errorf("%+v", got.Clamps)
	}
	if _, err := x.Explain(t.Context(), "none"); !errors.Is(err, control.ErrNoSkill) {
		t.Errorf("%v", err)
	}
}
