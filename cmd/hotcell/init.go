package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/skills"
)

// scaffolds are the bundles that skills begin as, by kind. NAME stands for the skill's name.
//
//go:embed scaffold
var scaffolds embed.FS

const scaffoldName = "NAME"

// kinds are the words of --kind.
func kinds() []string { return []string{"python", "js", "agent", "frames"} }

func (a *app) initCmd() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use:   "init NAME",
		Short: "Begin a skill: write a bundle that works",
		Long: "Begin a skill: write a bundle that works. It becomes a folder of that name in the first folder of skills (--skills, or\n" +
			"skills.dirs of the configuration); a NAME with a slash says where else: ./greet, other/greet. Nothing is overwritten.",
		Args: exactly("NAME"),
		RunE: func(_ *cobra.Command, args []string) error { return a.initSkill(args[0], kind) },
	}
	c.Flags().StringVar(&kind, "kind", kinds()[0], "what runs: `KIND` "+strings.Join(kinds(), ", "))
	return c
}

func (a *app) initSkill(name, kind string) error {
	if _, err := fs.Stat(scaffolds, path.Join("scaffold", kind)); err != nil || strings.ContainsAny(kind, "/.") || kind == "" {
		return usagef("--kind: expected one of %s, not %q", strings.Join(kinds(), ", "), oneLine(kind, 40))
	}
	parent := ""
	if strings.Contains(name, "/") {
		parent, name = filepath.Dir(filepath.Clean(name)), filepath.Base(filepath.Clean(name))
	}
	if !skills.ValidName(name) {
		return usagef("%q can't be a skill's name: expected 1 to 64 of a-z, 0-9 and single hyphens, such as word-count", oneLine(name, 80))
	}
	if parent == "" {
		cfg, _, err := a.settings()
		if err != nil {
			return err
		}
		if len(cfg.Skills.Dirs) == 0 {
			return usagef("no folder of skills is configured: name one with --skills DIR, or say where with a slash: ./%s", name)
		}
		parent = cfg.Skills.Dirs[0]
	}
	dir := filepath.Join(parent, name)
	if err := writeScaffold(parent, name, kind); err != nil {
		return err
	}
	a.out.line(fmt.Sprintf("%s is there. Check it with 'hotcell skills lint %s'.", oneLine(dir, 300), oneLine(dir, 300)))
	return nil
}

// writeScaffold writes a new folder, all of it or nothing.
func writeScaffold(parent, name, kind string) (err error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return plainPathError(err)
	}
	dir := filepath.Join(parent, name)
	// It is made beside its place: a daemon that watches the folder sees the whole skill or none.
	half, err := os.MkdirTemp(parent, "."+name+"-")
	if err != nil {
		return plainPathError(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(half)) }()
	made := filepath.Join(half, name)
	if err := copyScaffold(path.Join("scaffold", kind), made, name); err != nil {
		return plainPathError(err)
	}
	_, err = os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(made, dir) // it replaces no folder, whoever makes one meanwhile
	} else if err == nil {
		err = fs.ErrExist
	}
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s is there already, and nothing is overwritten: choose another name", oneLine(dir, 300))
	}
	return plainPathError(err)
}

func copyScaffold(from, to, name string) error {
	return fs.WalkDir(scaffolds, from, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(strings.TrimPrefix(at, from)))
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := fs.ReadFile(scaffolds, at)
		if err != nil {
			return err
		}
		return os.WriteFile(target, []byte(strings.ReplaceAll(string(text), scaffoldName, name)), 0o644)
	})
}
