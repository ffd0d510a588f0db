package curator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// read runs the skill tool. Two gates stand in front, in this order: the agent's allowlist, and then what the principal sees.
func (h *Hosted) read(ctx context.Context, who a2e.Caller, args map[string]any) (*a2e.Result, error) {
	text := func(key string) string { s, _ := args[key].(string); return s }
	name := catalog.Fold(text("name"))
	if name == "" {
		return nil, a2e.Errorf(a2e.SchemaViolation, "name is required.")
	}
	gate, err := h.opt.Agents.Gate(ctx, who)
	if err != nil {
		return nil, err
	}
	if gate != nil && !gate(name) {
		return nil, a2e.Errorf(a2e.Unauthorized, "Skill '%s' is not in the allowed_skills list for this agent.", shown(name))
	}
	found, err := h.opt.Reader.Skill(ctx, who, name, 0)
	var e *catalog.Error
	switch {
	case errors.As(err, &e):
		return nil, a2e.Errorf(a2e.UnknownSkill, "Skill '%s' is not currently available on disk.", shown(name))
	case err != nil:
		return nil, err
	case text("action") == "files":
		return files(found), nil
	}
	filename := text("filename")
	if _, given := args["filename"]; !given {
		filename = entryFile
	}
	return h.file(ctx, who, found, name, filename)
}

// files lists what a skill consists of.
func files(found *catalog.Detail) *a2e.Result {
	list := make([]any, len(found.Files))
	for i, f := range found.Files {
		list[i] = map[string]any{"path": f.Path, "bytes": f.Bytes}
	}
	return &a2e.Result{
		Success: true, Data: map[string]any{"name": found.Name, "files": list}, Summary: fmt.Sprintf("%d files of skill '%s'", len(list), found.Name),
	}
}

// file reads one file: SKILL.md without its frontmatter, others as they are. Its size is looked at in the listing, and again
// once it is read.
func (h *Hosted) file(ctx context.Context, who a2e.Caller, found *catalog.Detail, name, filename string) (*a2e.Result, error) {
	at := slices.IndexFunc(found.Files, func(f catalog.File) bool { return f.Path == filename })
	if !plainPath(filename) || at < 0 {
		return nil, noPart(name, filename)
	}
	if found.Files[at].Bytes > catalog.MaxRead {
		return nil, capped(name, filename)
	}
	content := found.Body
	if filename != entryFile {
		b, err := h.opt.Reader.File(ctx, who, name, filename, 0)
		var e *catalog.Error
		switch {
		case errors.As(err, &e):
			return nil, noPart(name, filename)
		case err != nil:
			return nil, err
		}
		content = string(b)
	}
	if len(content) > catalog.MaxRead {
		return nil, capped(name, filename)
	}
	return &a2e.Result{
		Success: true,
		Data:    map[string]any{"name": found.Name, "path": filename, "content": content, "bytes": len(content)},
		Summary: fmt.Sprintf("%s of skill '%s', %d bytes", shown(filename), found.Name, len(content)),
	}, nil
}

func noPart(name, filename string) error {
	return a2e.Errorf(a2e.SkillError, "File '%s' is not part of skill '%s'.", shown(filename), shown(name)).Permanent()
}

func capped(name, filename string) error {
	return a2e.Errorf(a2e.SkillError, "File '%s' of skill '%s' is too large: reads are capped at %d bytes.", shown(filename), shown(name), catalog.MaxRead).Permanent()
}

// plainPath reports whether a file name leads nowhere but into the bundle.
func plainPath(name string) bool {
	if name == "" || strings.HasPrefix(name, "/") || strings.Contains(name, "\x00") {
		return false
	}
	return !slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' }), func(s string) bool { return s == "." || s == ".." })
}
