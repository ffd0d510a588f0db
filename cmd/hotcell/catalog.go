package main

import (
	"log/slog"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/skills"
)

// findSkill returns the skill of that name, with a suggestion in the error where one is close.
func (a *app) findSkill(name string) (*skills.Skill, *config.Config, error) {
	cfg, _, err := a.settings()
	if err != nil {
		return nil, nil, err
	}
	catalog, err := a.loadLibrary(cfg)
	if err != nil {
		return nil, nil, err
	}
	skill, near := catalog.Find(name)
	switch {
	case skill != nil:
		return skill, cfg, nil
	case near != "":
		return nil, nil, usagef("unknown skill %q: did you mean %q?", oneLine(name, 80), oneLine(near, 80))
	}
	return nil, nil, usagef("unknown skill %q: 'hotcell skills list --all' shows what is there; custom skills are at /api/v1/custom-skills of the daemon", oneLine(name, 80))
}

// catalog loads the skills without any engine.
func (a *app) catalog() (skills.Catalog, error) {
	cfg, _, err := a.settings()
	if err != nil {
		return nil, err
	}
	return a.loadLibrary(cfg)
}

func (a *app) loadLibrary(cfg *config.Config) (*skills.Library, error) {
	log := a.logger(slog.LevelWarn)
	box := host.Toolbox(cfg, log) // knows what is configured; asks no server
	defer box.Close()
	lib, err := host.Library(cfg, box, log)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return lib, nil
}
