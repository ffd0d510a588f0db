package skills

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// How far a folder is searched for bundles.
const (
	lintDepth   = 6
	lintFolders = 100_000
)

// LintOptions says how bundles are checked.
type LintOptions struct {
	Profile Profile
	Tools   Toolbox // tools that a skill declares are looked up here; nil: they are not
}

// Lint checks the bundle in the folder dir of fsys, or, where dir is no bundle itself, every bundle in the folders below it.
// It returns what is wrong, sorted by file and line, and how many bundles were looked at; nothing is found when all is well.
// A finding's File is relative to dir.
//
// A skill's name must equal its folder's name. When dir is "." the folder's name is not known and goes unchecked. What a
// skill needs of other skills goes unchecked, too.
func Lint(fsys fs.FS, dir string, o LintOptions) (found []Finding, bundles int) {
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		return []Finding{{Code: CodeNoSkill, Severity: SeverityError, File: clip(dir, 200), Message: plainError(err)}}, 0
	}
	if hasSkillMD(sub, ".") {
		folder := path.Base(dir)
		if folder == "." {
			folder = ""
		}
		return o.check(sub, folder), 1
	}
	s := &search{fsys: sub}
	s.below(".", 1)
	found = s.unread
	if len(s.bundles) == 0 && len(found) == 0 {
		return []Finding{{
			Code: CodeNoSkill, Severity: SeverityError, File: fileSkill,
			Message: "no SKILL.md here, nor in a folder below; a skill is a folder with a SKILL.md",
		}}, 0
	}
	for _, at := range s.bundles {
		one, _ := fs.Sub(sub, at) // it only refuses invalid paths, and the search gives none
		for _, f := range o.check(one, path.Base(at)) {
			f.File = clip(path.Join(at, f.File), 2*maxPath)
			found = append(found, f)
		}
	}
	return found, len(s.bundles)
}

// check returns what is wrong with one bundle, as far as it can be told without the other skills.
func (o LintOptions) check(fsys fs.FS, folder string) []Finding {
	ld := load(fsys, folder, reading{profile: o.Profile})
	if o.Tools == nil {
		return ld.skill.Findings
	}
	c := &composer{box: o.Tools, all: []*loaded{ld}}
	s := &composed{loaded: ld, skill: ld.skill, toolkits: ld.toolkits}
	for _, d := range ld.tools {
		if !strings.HasPrefix(d.name, SkillTool) {
			s.tools = append(s.tools, d)
		}
	}
	c.settle(s)
	c.checkRequired(s)
	return s.skill.Findings
}

// search finds the bundles below a folder, in order. Links are passed by, and dot folders but for their skills.
type search struct {
	fsys    fs.FS
	bundles []string
	unread  []Finding // folders that can't be looked into
	looked  int
}

func isDir(fsys fs.FS, name string) bool {
	info, err := fs.Lstat(fsys, name)
	return err == nil && info.IsDir()
}

func (s *search) below(dir string, depth int) {
	entries, err := fs.ReadDir(s.fsys, dir)
	if err != nil {
		if len(s.unread) < maxFindings && !errors.Is(err, fs.ErrNotExist) {
			s.unread = append(s.unread, Finding{
				Code: CodeUnreadableFile, Severity: SeverityError, File: clip(dir, 2*maxPath), Message: "cannot be read: " + clip(plainError(err), 200),
			})
		}
		return
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			name = path.Join(name, "skills") // as in .agents/skills; what else such a folder has is nobody's business
		}
		if !e.IsDir() || !fs.ValidPath(name) || !isDir(s.fsys, name) {
			continue
		}
		if s.looked++; s.looked > lintFolders || len(s.bundles) == maxSkills {
			return
		}
		switch {
		case hasSkillMD(s.fsys, name):
			s.bundles = append(s.bundles, name)
		case depth < lintDepth:
			s.below(name, depth+1)
		}
	}
}
