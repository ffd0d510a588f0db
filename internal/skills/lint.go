package skills

import (
	"io/fs"
	"path"
	"strings"
)

// Lint checks the bundle in the folder dir of fsys, or, where dir is no bundle itself, every bundle in a folder below it.
// It returns what is wrong, sorted by file and line, and how many bundles were looked at; nothing is found when all is well.
// A finding's File is relative to dir.
//
// A skill's name must equal its folder's name. When dir is "." the folder's name is not known and goes unchecked. What a
// skill needs of other skills goes unchecked, too, and so do its tools.
func Lint(fsys fs.FS, dir string) (found []Finding, bundles int) { return LintWith(fsys, dir, nil) }

// LintWith is [Lint] for a host with tools: those that a skill declares are looked up in the box.
func LintWith(fsys fs.FS, dir string, box Toolbox) (found []Finding, bundles int) {
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		return []Finding{{Code: CodeNoSkill, Severity: SeverityError, File: clip(dir, 200), Message: plainError(err)}}, 0
	}
	if hasSkillMD(sub, ".") {
		folder := path.Base(dir)
		if folder == "." {
			folder = ""
		}
		return lintOne(sub, folder, box), 1
	}
	folders, err := Source{Path: dir}.folders(sub)
	if err != nil || len(folders) == 0 {
		return []Finding{{
			Code: CodeNoSkill, Severity: SeverityError, File: fileSkill,
			Message: "no SKILL.md here, nor in a folder below; a skill is a folder with a SKILL.md",
		}}, 0
	}
	return lintAll(sub, folders, box), len(folders)
}

// lintOne returns what is wrong with one bundle, as far as it can be told without the other skills.
func lintOne(fsys fs.FS, folder string, box Toolbox) []Finding {
	ld := load(fsys, folder)
	if box == nil {
		return ld.skill.Findings
	}
	c := &composer{box: box, all: []*loaded{ld}}
	s := &composed{loaded: ld, skill: ld.skill, toolkits: ld.toolkits}
	for _, d := range ld.tools {
		if !strings.HasPrefix(d.name, SkillTool) {
			s.tools = append(s.tools, d)
		}
	}
	c.settle(s)
	return s.skill.Findings
}

func lintAll(fsys fs.FS, folders []string, box Toolbox) []Finding {
	var out []Finding
	for _, folder := range folders {
		sub, _ := fs.Sub(fsys, folder) // it only refuses invalid paths, and folders names none
		for _, f := range lintOne(sub, folder, box) {
			f.File = path.Join(folder, f.File)
			out = append(out, f)
		}
	}
	return out
}
