package skills

import (
	"crypto/sha256"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Memory is a tree of files that is nowhere on a disk. What begins with "#!" can be executed. A path that another one needs
// for a folder can't be opened.
func Memory(files map[string]string) fs.FS {
	all := make([]bundleFile, 0, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := bundleFile{path: name, mode: 0o644, size: int64(len(files[name])), data: []byte(files[name])}
		if strings.HasPrefix(files[name], "#!") {
			f.mode = 0o755
		}
		f.sum = sha256.Sum256(f.data)
		all = append(all, f)
	}
	v := newView(nil, all)
	v.kept = true
	return v
}

// Part is a skill that was read by itself, before it is looked at in the company of others. It never changes.
type Part struct{ ld *loaded }

// ReadPart reads the bundle in fsys, which is held in memory from then on. The bundle's folder, so its name, is folder.
func ReadPart(fsys fs.FS, folder string, p Profile, label string) *Part {
	ld := load(fsys, folder, reading{profile: p, keep: keepBundle})
	ld.skill.Source = label
	return &Part{ld: ld}
}

// WholePart is a skill of a [Catalog], which others may include or use.
func WholePart(s *Skill) *Part {
	ld := &loaded{skill: s, final: true}
	for i := range min(len(s.ToolNames), len(s.Tools)) {
		ld.tools = append(ld.tools, declaration{name: s.ToolNames[i], raw: s.Tools[i]})
	}
	for i := range min(len(s.ToolkitNames), len(s.Toolkits)) {
		ld.toolkits = append(ld.toolkits, declaration{name: s.ToolkitNames[i], raw: s.Toolkits[i]})
	}
	return &Part{ld: ld}
}

// Skill returns the skill as it is by itself.
func (p *Part) Skill() *Skill { return p.ld.skill }

// Of returns a copy that belongs to a principal.
func (p *Part) Of(o Owner) *Part {
	sk, ld := *p.ld.skill, *p.ld
	sk.Owner, ld.skill = &o, &sk
	return &Part{ld: &ld}
}

// Block returns a copy that is Blocked for a reason.
func (p *Part) Block(f Finding) *Part { return &Part{ld: p.ld.block(f)} }

// Alone reports whether nothing outside of the bundle changes what the skill is.
func (p *Part) Alone() bool {
	return len(p.ld.includes)+len(p.ld.tools)+len(p.ld.toolkits)+len(p.ld.allowed.names) == 0
}

// needs are the names of the skills that it includes or uses.
func (p *Part) needs() []string {
	names := slices.Clone(p.ld.includes)
	for _, d := range p.ld.tools {
		if name, ok := strings.CutPrefix(d.name, SkillTool); ok {
			names = append(names, name)
		}
	}
	return names
}

// mostNeeded bounds how many skills one skill can need, directly or not.
const mostNeeded = 1000

// Compose returns the skill as it is on a host with tools and among other skills: find returns the one of a name, or nil.
func (p *Part) Compose(box Toolbox, find func(name string) *Part) *Skill {
	all, known := []*loaded{p.ld}, map[string]bool{p.ld.skill.Name: true}
	queue := p.needs()
	for len(queue) > 0 && len(all) < mostNeeded {
		name := queue[0]
		queue = queue[1:]
		if known[name] {
			continue
		}
		known[name] = true
		if other := find(name); other != nil {
			all = append(all, other.ld)
			queue = append(queue, other.needs()...)
		}
	}
	return compose(all, box)[0]
}

// Frontmatter returns the frontmatter of a SKILL.md as JSON has it, and its body; nil where there is none that can be read.
func Frontmatter(text string) (front map[string]any, body string) {
	head, body, ok := splitFrontmatter(text)
	if !ok {
		return nil, text
	}
	root, err := parseFrontmatter(head, "", &report{})
	if err != nil || root == nil || root.kind != mapKind {
		return nil, body
	}
	front, _ = root.value().(map[string]any)
	return front, body
}
