package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

const maxSchema = 64 << 10 // bytes of a schema that are shown

func (a *app) skillsCmd() *cobra.Command {
	c := &cobra.Command{Use: "skills", Short: "List, show or check skills"}
	group(c)
	var listJSON, all, showJSON, lintJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List the skills that are there",
		Args:  exactly(),
		RunE:  func(*cobra.Command, []string) error { return a.listSkills(all, listJSON) },
	}
	list.Flags().BoolVar(&listJSON, "json", false, "print JSON")
	list.Flags().BoolVar(&all, "all", false, "also those that can't be called: Created, Blocked, Archived")
	show := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one skill: what it takes, how it runs, its limits and findings",
		Args:  exactly("NAME"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.showSkill(args[0], showJSON) },
	}
	show.Flags().BoolVar(&showJSON, "json", false, "print JSON")
	lint := &cobra.Command{
		Use:   "lint DIR",
		Short: "Say what is wrong with a skill's folder, with file, line and column",
		Long: "Say what is wrong with a skill's folder, or with each in a folder of skills, with file, line and column. What depends\n" +
			"on other skills, those that it includes or uses as tools, is told by 'hotcell skills show'.",
		Args: exactly("DIR"),
		RunE: func(_ *cobra.Command, args []string) error { return a.lintSkill(args[0], lintJSON) },
	}
	lint.Flags().BoolVar(&lintJSON, "json", false, "print JSON")
	c.AddCommand(list, show, lint)
	return c
}

// listed is a row of `hotcell skills list --json`.
type listed struct {
	Name        string        `json:"name"`
	Version     string        `json:"version"`
	Status      skills.Status `json:"status"`
	Why         string        `json:"why,omitempty"`
	Category    string        `json:"category"`
	Tags        []string      `json:"tags"`
	Source      string        `json:"source"`
	Path        string        `json:"path"`
	Description string        `json:"description"`
}

func (a *app) listSkills(all, asJSON bool) error {
	catalog, err := a.catalog()
	if err != nil {
		return err
	}
	rows := []listed{}
	hidden := 0
	for _, s := range catalog.List() {
		if s.Status != skills.Published && !all {
			hidden++
			continue
		}
		rows = append(rows, listed{
			s.Name, s.Version, s.Status, s.BlockedWhy, s.Category, append([]string{}, s.Tags...), s.Source, s.Path, s.Description,
		})
	}
	if asJSON {
		return a.printJSON(rows)
	}
	var cells [][]string
	for _, r := range rows {
		about := r.Description
		if r.Why != "" {
			about = r.Why
		}
		cells = append(cells, []string{
			oneLine(r.Name, 64), oneLine(r.Version, 20), string(r.Status), oneLine(r.Category, 30), oneLine(r.Source, 30),
			oneLine(about, 120),
		})
	}
	table(a.out, []string{"NAME", "VERSION", "STATUS", "CATEGORY", "SOURCE", "DESCRIPTION"}, cells)
	if hidden > 0 {
		a.errs.line(fmt.Sprintf("hotcell: %d more can't be called: --all shows them", hidden))
	}
	return nil
}

// shown is what `hotcell skills show --json` prints.
type shown struct {
	Definition a2e.Definition    `json:"definition"`
	Path       string            `json:"path"`
	Why        string            `json:"why,omitempty"`
	Run        shownRun          `json:"run"`
	Policy     []policies.Choice `json:"policy"`
	Digest     string            `json:"digest"`
	Files      int               `json:"files"`
	Bytes      int64             `json:"bytes"`
	Findings   []skills.Finding  `json:"findings"`
}

type shownRun struct {
	Kind    string   `json:"kind"`
	Image   string   `json:"image"`
	Command []string `json:"command"`
	Frames  bool     `json:"frames,omitempty"`
}

func (a *app) showSkill(name string, asJSON bool) error {
	skill, cfg, err := a.findSkill(name)
	if err != nil {
		return err
	}
	image := skill.Run.Image
	if image == "" {
		image = images.Default(cfg.Images.Defaults, skill.Run.Kind)
	}
	s := shown{
		Definition: skill.Definition(), Path: skill.Path, Why: skill.BlockedWhy,
		Run:    shownRun{skill.Run.Kind, image, append([]string{}, skill.Run.Command...), skill.Run.Frames},
		Digest: skill.Bundle.Digest, Files: skill.Bundle.Files, Bytes: skill.Bundle.Bytes,
		Findings: append([]skills.Finding{}, skill.Findings...),
	}
	if effective, err := policies.Narrow(cfg.OperatorPolicy(), skill.Policy, policies.Policy{}); err == nil {
		s.Policy = effective.Choices
	}
	if asJSON {
		return a.printJSON(s)
	}
	a.printSkill(skill, s)
	return nil
}

func (a *app) printSkill(skill *skills.Skill, s shown) {
	a.out.line(a.out.style.bold.Render(oneLine(skill.Name, 80)) + " " + oneLine(skill.Version, 40))
	facts(a.out, [][2]string{
		{"description", block(skill.Description, 2048)},
		{"when to use", block(skill.WhenToUse, 2048)},
		{"status", statusText(skill)},
		{"category", oneLine(skill.Category, 80)},
		{"tags", oneLine(strings.Join(skill.Tags, ", "), 300)},
		{"triggers", oneLine(strings.Join(skill.Triggers, ", "), 300)},
		{"source", oneLine(skill.Source+", "+skill.Path, 400)},
		{"bundle", fmt.Sprintf("%d %s, %s, sha256:%.12s", s.Files, plural(s.Files, "file", "files"), size(s.Bytes), s.Digest)},
		{"runs", runsText(s.Run)},
		{"image", oneLine(s.Run.Image, 300)},
		{"tools", toolsText(skill)},
		{"limits", limitsLine(s.Policy)},
		{"input", schemaText(skill.InputSchema)},
		{"output", schemaText(skill.OutputSchema)},
	})
	a.printFindings(s.Findings)
}

// statusText is where a skill stands, and why it can't be called.
func statusText(skill *skills.Skill) string {
	if skill.BlockedWhy == "" {
		return string(skill.Status)
	}
	return string(skill.Status) + ": " + oneLine(skill.BlockedWhy, 300)
}

func runsText(run shownRun) string {
	if run.Frames && len(run.Command) == 0 {
		return "the image's own program"
	}
	return oneLine(strings.Join(run.Command, " "), 400)
}

// toolsText lists what the skill may use, with its includes', and marks what writes.
func toolsText(skill *skills.Skill) string {
	writes := map[string]bool{}
	for _, t := range skill.Resolved {
		writes[t.Name] = t.Writes
	}
	var parts []string
	for _, name := range slices.Concat(skill.ToolNames, skill.ToolkitNames) {
		if writes[name] {
			name += " (writes)"
		}
		parts = append(parts, name)
	}
	return oneLine(strings.Join(parts, ", "), 500)
}

func limitsLine(choices []policies.Choice) string {
	var parts []string
	for _, c := range choices {
		parts = append(parts, strings.TrimPrefix(c.Field, "limits.")+" "+c.Value)
	}
	return oneLine(strings.Join(parts, ", "), 500)
}

func schemaText(schema json.RawMessage) string {
	var b bytes.Buffer
	if len(schema) == 0 || json.Indent(&b, schema, "", "  ") != nil {
		return ""
	}
	text, _ := shorten(b.String(), maxSchema)
	return safeJSON(strings.ToValidUTF8(text, ""))
}

// lintSkill checks one folder. Errors end it with exit 1, warnings don't.
func (a *app) lintSkill(dir string, asJSON bool) error {
	if info, err := os.Stat(dir); err != nil {
		return usagef("%w", plainPathError(err))
	} else if !info.IsDir() {
		return usagef("%s: expected the folder of a skill", oneLine(dir, 200))
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	// The folder's own name counts, so it is looked at from above; no link leads further out.
	root, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return plainPathError(err)
	}
	defer root.Close()
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	box := toolbox(cfg, a.logger(slog.LevelWarn))
	defer box.Close()
	found, bundles := skills.LintWith(root.FS(), filepath.Base(abs), box)
	bad := 0
	for i, f := range found {
		if f.Severity == skills.SeverityError {
			bad++
		}
		found[i].File = filepath.Join(dir, f.File)
	}
	if asJSON {
		if err := a.printJSON(append([]skills.Finding{}, found...)); err != nil {
			return err
		}
	} else {
		a.printFindings(found)
	}
	if !asJSON {
		_, err := root.Lstat(filepath.Join(filepath.Base(abs), "SKILL.md"))
		a.printLinted(dir, err != nil, bundles, len(found))
	}
	if bad > 0 {
		return silent(exitFailed)
	}
	return nil
}

// printLinted says that all is well and, for a folder of skills, how many were looked at.
func (a *app) printLinted(dir string, folder bool, checked, found int) {
	line := oneLine(dir, 300) + ":"
	switch {
	case folder && checked > 0:
		line += fmt.Sprintf(" %d %s checked", checked, plural(checked, "skill", "skills"))
		if found == 0 {
			line += ", ok"
		}
	case found == 0:
		line += " ok"
	default:
		return
	}
	a.out.line(line)
}

// printFindings writes findings as compilers do: file:line:column: severity: message [code].
func (a *app) printFindings(list []skills.Finding) {
	for _, f := range list {
		style := a.out.style.warn
		if f.Severity == skills.SeverityError {
			style = a.out.style.bad
		}
		a.out.line(paint(style, oneLine(f.String(), 1000)))
	}
}
