package skills

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"sort"
	"strings"

	"github.com/hotcell/hotcell/policies"
)

// defaultVersion is a skill's version when it names none.
const defaultVersion = "0.0.0"

// loaded is a skill and what only the whole library can judge.
type loaded struct {
	skill      *Skill
	includes   []string
	includesAt *node

	tools, toolkits []declaration
	allowed         allowedTools
	final           bool // composed already
}

// load reads the bundle in fsys. It always returns a skill: one that cannot be used is Blocked, and its findings say why.
// folder is the bundle's own name, "" when it is not known; it is the skill's name as long as SKILL.md has no valid one.
func load(fsys fs.FS, folder string, o reading) *loaded {
	r := &report{profile: o.profile}
	sk := &Skill{Name: clip(folder, 80), Folder: folder, Version: defaultVersion, Status: Published}
	sk.Bundle = openBundle(fsys, o.keep, r)
	if sk.Bundle.Digest != "" {
		fsys = sk.Bundle.FS // the same bytes that the digest is of
	}
	text, err := readText(fsys, fileSkill, maxSkillMD)
	if err != nil {
		r.at(fileSkill, nil, scanPath(folder), SeverityError, CodeUnreadable, "cannot be read: %s", clip(plainError(err), 200))
		return finish(sk, &sidecar{}, r)
	}
	front := readSkillMD(text, folder, r)
	if front.name != "" {
		sk.Name = front.name
	}
	side, ok := loadSidecar(fsys, r)
	apply(sk, front, &side, r)
	if ok {
		checkLimits(&side, r)
		sk.Run = resolveRun(side.run, hasFile(sk.Bundle.FS), r)
	}
	if sk.Run.Kind == kindAgent && sk.Policy.LLM == nil {
		sk.Policy.LLM = &policies.LLM{} // there is no agent without a model
	}
	ld := finish(sk, &side, r)
	ld.allowed = front.allowed
	return ld
}

// reading says how a bundle is read.
type reading struct {
	profile Profile
	keep    int64 // its files stay in memory if they have no more bytes in all
}

// loadSidecar reads skill.yaml where there is one; ok is false when it cannot be trusted to say how to run.
func loadSidecar(fsys fs.FS, r *report) (s sidecar, ok bool) {
	text, err := readText(fsys, fileSidecar, maxYAML)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sidecar{}, true
	case err != nil:
		r.at(fileSidecar, nil, "", SeverityError, CodeUnreadableFile, "cannot be read: %s", clip(plainError(err), 200))
		return sidecar{}, false
	}
	s = readSidecar(text, r)
	return s, r.firstErrorIn(fileSidecar) == nil
}

func hasFile(fsys fs.FS) func(string) bool {
	return func(name string) bool {
		info, err := fs.Stat(fsys, name)
		return err == nil && info.Mode().IsRegular()
	}
}

// apply fills the skill's fields from both files.
func apply(sk *Skill, front frontmatter, s *sidecar, r *report) {
	sk.Description, sk.License, sk.Compatibility = front.description, front.license, front.compatibility
	sk.Instructions, sk.Annotations = front.body, front.metadata
	sk.AllowedTools, sk.RequiredTools = front.allowed.raw, front.allowed.names
	if len(front.metadata)+len(s.metadata) > 0 {
		sk.Metadata = make(map[string]any, len(front.metadata)+len(s.metadata))
		for key, text := range front.metadata {
			sk.Metadata[key] = text
		}
		maps.Copy(sk.Metadata, s.metadata)
	}
	sk.Version = first(s.version, front.metadata["version"], defaultVersion)
	sk.Triggers, sk.Tags = s.triggers, s.tags
	sk.Category, sk.Icon = s.category, s.icon
	sk.Examples, sk.InputModes, sk.OutputModes = s.examples, s.inputModes, s.outputModes
	sk.Status = Status(first(s.status, string(Published)))
	sk.Tools, sk.ToolNames = raws(s.tools), toolNames(s.tools)
	sk.Toolkits, sk.ToolkitNames = raws(s.toolkits), toolNames(s.toolkits)
	sk.MaxTurns = int(s.maxTurns)
	sk.ArgNames, sk.ArgDefaults = s.argNames, s.argDefaults
	sk.Policy = s.policy()
	sk.InputSchema, sk.Input = applySchema(s.input, "input_schema", "arguments", r)
	sk.OutputSchema, sk.Output = applySchema(s.output, "output_schema", "data", r)
	sk.WhenToUse = first(s.whenToUse, sk.Description)
	sk.ArgumentHint = first(s.argumentHint, hint(s.input, s.argNames))
}

// applySchema compiles a schema of skill.yaml; {} is none.
func applySchema(n *node, key, root string, r *report) (json.RawMessage, *Schema) {
	if n == nil || len(n.fields) == 0 {
		return nil, nil
	}
	typ := n.get("type")
	switch {
	case typ == nil:
		r.at(fileSidecar, n, key, SeverityWarning, CodeSchemaNoType, "%s: a schema should say its type, such as type: object", key)
	case key == "input_schema" && typ.kind == stringKind && typ.text != "object":
		r.at(fileSidecar, typ, key+".type", SeverityError, CodeSchemaInvalid,
			"%s.type: expected object, since arguments are always a JSON object", key)
		return nil, nil
	}
	raw := rawJSON(n)
	schema, err := compileSchema(raw, root)
	var se *schemaError
	if errors.As(err, &se) {
		at := n.at(se.at)
		r.at(fileSidecar, at, key, SeverityError, CodeSchemaInvalid, "%s: %s", key, se.message)
		return nil, nil
	}
	return raw, schema
}

// finish sets the status that the findings demand.
func finish(sk *Skill, s *sidecar, r *report) *loaded {
	switch f := r.firstError(); {
	case f != nil && (sk.Status == Published || sk.Status == Blocked):
		sk.Status, sk.BlockedWhy = Blocked, blockedWhy(f)
	case sk.Status == Blocked:
		sk.BlockedWhy = "skill.yaml says status: Blocked"
	}
	sortFindings(r.findings)
	sk.Findings = r.findings
	return &loaded{skill: sk, includes: s.includes, includesAt: s.includesAt, tools: s.tools, toolkits: s.toolkits}
}

// sortFindings puts SKILL.md first, then skill.yaml, then the rest, each by line.
func sortFindings(fs []Finding) {
	rank := func(f Finding) int {
		switch f.File {
		case fileSkill:
			return 0
		case fileSidecar:
			return 1
		}
		return 2
	}
	sort.SliceStable(fs, func(i, j int) bool {
		a, b := fs[i], fs[j]
		switch {
		case rank(a) != rank(b):
			return rank(a) < rank(b)
		case a.File != b.File:
			return a.File < b.File
		case a.Line != b.Line:
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
}

// hint tells an agent how to build the arguments.
func hint(schema *node, names []string) string {
	required := map[string]bool{}
	if req := schema.get("required"); req != nil {
		for _, it := range req.items {
			required[it.text] = true
		}
	}
	props := schema.get("properties")
	if props == nil {
		return strings.Join(names, ", ")
	}
	parts := make([]string, 0, len(props.fields))
	for _, f := range props.fields {
		var about []string
		if typ := f.value.get("type"); typ != nil && typ.kind == stringKind {
			about = append(about, typ.text)
		}
		if required[f.key] {
			about = append(about, "required")
		}
		part := clip(f.key, 64)
		if len(about) > 0 {
			part += " (" + strings.Join(about, ", ") + ")"
		}
		parts = append(parts, part)
	}
	return clip(strings.Join(parts, "; "), maxText)
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
