package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/skills"
)

func (a *app) lintCmd() *cobra.Command {
	var asJSON, strict bool
	c := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Say what is wrong with skills, with file, line and column",
		Long: "Say what is wrong with skills, with file, line and column. A PATH is a skill's folder, its SKILL.md, or a folder that\n" +
			"has skills somewhere below it. Errors end it with exit 1, warnings don't: a skill with warnings alone can be used.\n" +
			"--strict holds SKILL.md to the letter of its format, so that other programs take it too.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("skills lint: expected PATH..., got nothing (see 'hotcell help skills lint')")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.lintSkills(args, strict, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&strict, "strict", false, "whatever SKILL.md's format forbids is an error")
	return c
}

// linted is the outcome of one path.
type linted struct {
	path    string
	found   []skills.Finding
	bundles int
	folder  bool // it is no bundle itself
}

// lintSkills checks all paths. Errors end it with exit 1, warnings don't.
func (a *app) lintSkills(paths []string, strict, asJSON bool) error {
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	box := host.Toolbox(cfg, a.logger(cfg, slog.LevelWarn)) // knows what is configured; asks no server
	defer box.Close()
	o := skills.LintOptions{Tools: box}
	if strict {
		o.Profile = skills.Strict
	}
	var all []linted
	for _, path := range paths {
		one, err := lintPath(path, o)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	if err := a.printLint(all, asJSON); err != nil {
		return err
	}
	for _, one := range all {
		for _, f := range one.found {
			if f.Severity == skills.SeverityError {
				return silent(exitFailed)
			}
		}
	}
	return nil
}

func lintPath(path string, o skills.LintOptions) (linted, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return linted{}, usagef("%w", plainPathError(err))
	case !info.IsDir() && filepath.Base(path) == "SKILL.md":
		path = filepath.Dir(path)
	case !info.IsDir():
		return linted{}, usagef("%s: expected the folder of a skill, its SKILL.md, or a folder of skills", oneLine(path, 200))
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return linted{}, err
	}
	// The folder's own name counts, so it is looked at from above; no link leads further out.
	root, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return linted{}, plainPathError(err)
	}
	defer root.Close()
	base := filepath.Base(abs)
	_, err = root.Lstat(filepath.Join(base, "SKILL.md"))
	one := linted{path: path, folder: err != nil}
	one.found, one.bundles = skills.Lint(root.FS(), base, o)
	for i, f := range one.found {
		one.found[i].File = filepath.Join(path, f.File)
	}
	return one, nil
}

func (a *app) printLint(all []linted, asJSON bool) error {
	if asJSON {
		found := []skills.Finding{}
		for _, one := range all {
			found = append(found, one.found...)
		}
		return a.printJSON(found)
	}
	for _, one := range all {
		a.printFindings(one.found)
		a.printLinted(one)
	}
	return nil
}

// printLinted says that all is well and, for a folder of skills, how many were looked at.
func (a *app) printLinted(one linted) {
	line := oneLine(one.path, 300) + ":"
	switch {
	case one.folder && one.bundles > 0:
		line += fmt.Sprintf(" %d %s checked", one.bundles, plural(one.bundles, "skill", "skills"))
		if len(one.found) == 0 {
			line += ", ok"
		}
	case len(one.found) == 0:
		line += " ok"
	default:
		return
	}
	a.out.line(line)
}
