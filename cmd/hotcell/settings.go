package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

// envSkills lists folders of skills, separated like PATH.
const envSkills = "HOTCELL_SKILLS"

const (
	keySkillDirs = "skills.dirs"
	keyPlugins   = "skills.plugins"
)

// settings reads the configuration under the flags. Its errors are the user's to mend: exit 2.
func (a *app) settings() (*config.Config, config.Source, error) {
	return a.settingsWith(map[string]any{})
}

// flagNames are the flags that set keys.
var flagNames = map[string]string{"sandbox.driver": "--driver", "data_dir": "--data-dir", "listen": "--listen", "socket": "--socket"}

// settingsWith is settings with overrides of a command's own flags, by key.
func (a *app) settingsWith(overrides map[string]any) (*config.Config, config.Source, error) {
	if a.flags.driver != "" {
		overrides["sandbox.driver"] = a.flags.driver
	}
	if a.flags.dataDir != "" {
		overrides["data_dir"] = a.flags.dataDir
	}
	cfg, src, err := config.Load(config.Options{
		Path: a.flags.config, Getenv: a.getenv, Environ: a.environ, Overrides: overrides, Flags: flagNames,
	})
	if err != nil {
		return nil, src, usagef("%w", err)
	}
	a.warnOfMissing(cfg, src)
	dirs, from, err := a.skillDirs()
	if err != nil {
		return nil, src, err
	}
	cfg.Skills.Dirs = append(dirs, cfg.Skills.Dirs...)
	src.Before(keySkillDirs, from...)
	return cfg, src, nil
}

// warnOfMissing names the folders of skills that somebody configured and that are not there. They may come later; the
// default one may be missing for good.
func (a *app) warnOfMissing(cfg *config.Config, src config.Source) {
	for _, name := range slices.Sorted(maps.Keys(cfg.Skills.Plugins)) {
		a.warnOfFolder(keyPlugins+"."+name, cfg.Skills.Plugins[name], src)
	}
	if src.Origin(keySkillDirs).Layer == config.LayerDefault {
		return
	}
	for _, dir := range cfg.Skills.Dirs {
		a.warnOfFolder(keySkillDirs, dir, src)
	}
}

func (a *app) warnOfFolder(key, dir string, src config.Source) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		a.errs.line(fmt.Sprintf("hotcell: warning: %s: %s: there is no folder %s", oneLine(src.Origin(key).Where, 300), key, oneLine(dir, 200)))
	}
}

// skillDirs are the folders that flags and environment name, which come before those of the configuration, and which of
// the two name any. Unlike the configuration's, they must be there.
func (a *app) skillDirs() (dirs []string, from []config.Origin, err error) {
	dirs = slices.Clone(a.flags.skills)
	if len(dirs) > 0 {
		from = append(from, config.Origin{Layer: config.LayerFlag, Where: "--skills"})
	}
	named := len(dirs)
	for _, dir := range filepath.SplitList(a.getenv(envSkills)) {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) > named {
		from = append(from, config.Origin{Layer: config.LayerEnv, Where: envSkills})
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			return nil, nil, usagef("--skills or %s: %w", envSkills, plainPathError(err))
		case !info.IsDir():
			return nil, nil, usagef("--skills or %s: %s is not a folder", envSkills, oneLine(dir, 200))
		}
	}
	return dirs, from, nil
}

// workspaceLimit is what a skill's workspace holds, in bytes: its default when the skill is not known.
func workspaceLimit(cfg *config.Config, skill *skills.Skill) int64 {
	var wish policies.Policy
	if skill != nil {
		wish = skill.Policy
	}
	effective, err := policies.Narrow(cfg.OperatorPolicy(), wish, policies.Policy{})
	if err != nil {
		return int64(policies.DefaultWorkspace) // the call itself will be refused, with this error
	}
	return int64(effective.Limits.Workspace)
}
