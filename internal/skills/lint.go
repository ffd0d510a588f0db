package skills

import (
	"io/fs"
	"path"
)

// Lint checks the bundle in the folder dir of fsys, or, where dir is no bundle itself, every bundle in a folder below it.
// It returns what is wrong, sorted by file and line, and how many bundles were looked at; nothing is found when all is well.
// A finding's File is relative to dir.
//
// A skill's name must equal its folder's name. When dir is "." the folder's name is not known and goes unchecked.
func Lint(fsys fs.FS, dir string) (found []Finding, bundles int) {
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		return []Finding{{Code: CodeNoSkill, Severity: SeverityError, File: clip(dir, 200), Message: plainError(err)}}, 0
	}
	if hasSkillMD(sub, ".") {
		folder := path.Base(dir)
		if folder == "." {
			folder = ""
		}
		return load(sub, folder).skill.Findings, 1
	}
	folders, err := Source{Path: dir}.folders(sub)
	if err != nil || len(folders) == 0 {
		return []Finding{{
			Code: CodeNoSkill, Severity: SeverityError, File: fileSkill,
			Message: "no SKILL.md here, nor in a folder below; a skill is a folder with a SKILL.md",
		}}, 0
	}
	return lintAll(sub, folders), len(folders)
}

func lintAll(fsys fs.FS, folders []string) []Finding {
	var out []Finding
	for _, folder := range folders {
		sub, _ := fs.Sub(fsys, folder) // it only refuses invalid paths, and folders names none
		for _, f := range load(sub, folder).skill.Findings {
			f.File = path.Join(folder, f.File)
			out = append(out, f)
		}
	}
	return out
}
