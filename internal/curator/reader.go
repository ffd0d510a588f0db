package curator

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// SourceCustom is the source of custom skills where they are read.
const SourceCustom = "custom-skills"

// Version implements [catalog.Reader].
func (c *Curator) Version() uint64 {
	ctx, cancel := brief(context.Background())
	defer cancel()
	v := c.shipped.Version() + c.tools.Version()
	if p, err := c.roster.look(ctx); err == nil {
		v += uint64(p.version)
	}
	if c.Gate != nil {
		v += c.Gate.Version()
	}
	return v
}

// narrowed is the shelf as a caller sees it, of one principal alone unless principal is 0. What its agent may not use it does not
// read either.
func (c *Curator) narrowed(ctx context.Context, who a2e.Caller, principal int64) (*view, error) {
	v, seen, err := c.look(ctx, who)
	if err != nil || principal <= 0 {
		return v, err
	}
	only := seen.ids[principal]
	v.packs = slices.DeleteFunc(v.packs, func(p *pack) bool { return p != only })
	return v, nil
}

// Skills implements [catalog.Reader].
func (c *Curator) Skills(ctx context.Context, who a2e.Caller, principal int64) ([]catalog.Summary, error) {
	v, err := c.narrowed(ctx, who, principal)
	if err != nil {
		return nil, err
	}
	shipped := c.shipped.List()
	all := make([]catalog.Summary, 0, len(shipped))
	for _, s := range shipped {
		if v.Allows(s) {
			all = append(all, summary(s))
		}
	}
	places := slices.DeleteFunc(v.places(), func(at place) bool { return v.allows != nil && !v.allows(at.label.Name) })
	err = c.listed(ctx, places, func(_ place, g *glance, err error) error {
		if err == nil {
			all = append(all, customSummary(g.skill, g.principal, g.files))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b catalog.Summary) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func summary(s *skills.Skill) catalog.Summary {
	tools := s.RequiredTools
	if tools == nil {
		tools = []string{}
	}
	return catalog.Summary{
		Name: s.Name, Slug: s.Name, Description: s.Description, Source: s.Source, License: s.License, Files: s.Bundle.Files,
		HasWarnings: len(s.Findings) > 0, RequiredTools: tools, Version: s.Version, Status: string(s.Status), Digest: s.Bundle.Digest,
	}
}

func (m *made) summary() catalog.Summary {
	return customSummary(m.skill, m.record.Principal, len(m.files))
}

func customSummary(skill *skills.Skill, principal int64, files int) catalog.Summary {
	s := summary(skill)
	s.Source, s.Principal, s.Files = SourceCustom, principal, files
	return s
}

// Skill implements [catalog.Reader].
func (c *Curator) Skill(ctx context.Context, who a2e.Caller, slug string, principal int64) (*catalog.Detail, error) {
	s, m, err := c.lookup(ctx, who, slug, principal)
	switch {
	case err != nil:
		return nil, err
	case m != nil:
		return m.detail(), nil
	case s != nil:
		return detail(s)
	}
	return nil, refuse(catalog.SkillNotFound, "Skill '%s' not found.", shown(slug))
}

// lookup finds a shipped skill, or else a custom one; both are nil where there is none.
func (c *Curator) lookup(ctx context.Context, who a2e.Caller, slug string, principal int64) (*skills.Skill, *made, error) {
	v, err := c.narrowed(ctx, who, principal)
	if err != nil {
		return nil, nil, err
	}
	if s := c.shipped.Lookup(slug); s != nil {
		if !v.Allows(s) {
			s = nil
		}
		return s, nil, nil
	}
	for _, at := range v.named(slug) {
		if v.allows != nil && !v.allows(at.label.Name) {
			continue
		}
		if m, err := c.make(ctx, at.pack, at.slot); m != nil || err != nil {
			return nil, m, err
		}
	}
	return nil, nil, nil
}

func detail(s *skills.Skill) (*catalog.Detail, error) {
	d := &catalog.Detail{
		Summary: summary(s), Compatibility: s.Compatibility, Metadata: s.Annotations, AllowedTools: s.AllowedTools, Body: s.Instructions,
		Warnings: findings(s.Findings), Digest: s.Bundle.Digest, BundleFS: s.Bundle.FS,
	}
	err := fs.WalkDir(s.Bundle.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		d.Files = append(d.Files, catalog.File{Path: name, Bytes: info.Size()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(d.Files, byPath)
	d.Frontmatter = frontmatter(s.Bundle.FS)
	return d, nil
}

// byPath puts SKILL.md first.
func byPath(a, b catalog.File) int {
	switch {
	case a.Path == b.Path:
		return 0
	case a.Path == entryFile:
		return -1
	case b.Path == entryFile:
		return 1
	}
	return strings.Compare(a.Path, b.Path)
}

// frontmatter is what SKILL.md says at its top; nil where that can't be read.
func frontmatter(fsys fs.FS) map[string]any {
	text, err := fs.ReadFile(fsys, entryFile)
	if err != nil {
		return nil
	}
	front, _ := skills.Frontmatter(string(text))
	return front
}

func (m *made) detail() *catalog.Detail {
	s := m.skill
	tools := ""
	if m.record.Content.AllowedTools != nil {
		tools = *m.record.Content.AllowedTools
	}
	return &catalog.Detail{
		Summary: m.summary(), Compatibility: s.Compatibility, Metadata: m.record.Content.Metadata, AllowedTools: tools,
		Body: m.record.Content.Body, Files: slices.Clone(m.files), Warnings: findings(s.Findings), Frontmatter: frontmatter(s.Bundle.FS),
		Digest: s.Bundle.Digest, BundleFS: s.Bundle.FS,
	}
}

// File implements [catalog.Reader]. Whatever is wrong, there is no such file.
func (c *Curator) File(ctx context.Context, who a2e.Caller, slug, path string, principal int64) ([]byte, error) {
	none := refuse(catalog.SkillFileNotFound, "Skill '%s' has no file '%s'.", shown(slug), shown(path))
	if !safePath(path) {
		return nil, none
	}
	s, m, err := c.lookup(ctx, who, slug, principal)
	switch {
	case err != nil:
		return nil, err
	case m != nil:
		content, err := c.custom(ctx, m, path)
		if err == nil && content == nil {
			err = none
		}
		return content, err
	case s == nil:
		return nil, none
	}
	content, err := readFile(s.Bundle.FS, path)
	if err != nil {
		return nil, none
	}
	return content, nil
}

var errNoFile = errors.New("no such file, or one that is too large")

// readFile reads one file of a bundle, whose size is looked at before and after.
func readFile(fsys fs.FS, path string) ([]byte, error) {
	info, err := fs.Stat(fsys, path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > catalog.MaxRead {
		return nil, errNoFile
	}
	content, err := fs.ReadFile(fsys, path)
	if err == nil && len(content) > catalog.MaxRead {
		err = errNoFile
	}
	return content, err
}

// custom reads a file of a custom skill that was found; nil if there is none.
func (c *Curator) custom(ctx context.Context, m *made, path string) ([]byte, error) {
	if !slices.ContainsFunc(m.files, func(f catalog.File) bool { return f.Path == path && f.Bytes <= catalog.MaxRead }) {
		return nil, nil
	}
	if content, err := readFile(m.skill.Bundle.FS, path); err == nil {
		return content, nil
	}
	// A file that no cell gets, such as one that begins with a dot.
	r, err := c.store.CustomSkill(ctx, m.record.Principal, m.record.Name)
	if errors.Is(err, catalog.ErrNone) {
		return nil, nil
	}
	content, ok := r.Content.Files[path]
	if err != nil || !ok || len(content) > catalog.MaxRead {
		return nil, err
	}
	return []byte(content), nil
}
