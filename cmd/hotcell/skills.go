package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	c := &cobra.Command{Use: "skills", Short: "List, show, check, begin or install skills"}
	group(c)
	var listJSON, all, showJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List the skills that are there",
		Args:  exactly(),
		RunE:  func(*cobra.Command, []string) error { return a.listSkills(all, listJSON) },
	}
	list.Flags().BoolVar(&listJSON, "json", false, "print JSON")
	list.Flags().BoolVar(&all, "all", false, "also those that nobody offers: Created, Archived")
	show := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one skill: what it takes, how it runs, its limits and findings",
		Args:  exactly("NAME"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.showSkill(args[0], showJSON) },
	}
	show.Flags().BoolVar(&showJSON, "json", false, "print JSON")
	c.AddCommand(list, show, a.lintCmd(), a.initCmd())
	c.AddCommand(a.installCmds()...)
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

	Findings []skills.Finding `json:"findings"`
}

func (a *app) listSkills(all, asJSON bool) error {
	catalog, err := a.catalog()
	if err != nil {
		return err
	}
	rows := []listed{}
	hidden := 0
	for _, s := range catalog.List() {
		if (s.Status == skills.Created || s.Status == skills.Archived) && !all {
			hidden++
			continue
		}
		rows = append(rows, listed{
			s.Name, s.Version, s.Status, s.BlockedWhy, s.Category, append([]string{}, s.Tags...), s.Source, s.Path, s.Description,
			append([]skills.Finding{}, s.Findings...),
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
		a.errs.line(fmt.Sprintf("hotcell: %d more that nobody offers: --all shows them", hidden))
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

	AllowedTools  string   `json:"allowed_tools"`
	RequiredTools []string `json:"required_tools"`
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
		Findings:     append([]skills.Finding{}, skill.Findings...),
		AllowedTools: skill.AllowedTools, RequiredTools: append([]string{}, skill.RequiredTools...),
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
		{"expects", oneLine(strings.Join(skill.RequiredTools, ", "), 500)},
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
