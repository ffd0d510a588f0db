package skills

import "io/fs"

// ReadBundle reads every file of the bundle in fsys once, as a [Library] does, and returns it with what is wrong with its
// files. Its FS opens what was read and nothing else; Digest is empty where the files are no bundle.
func ReadBundle(fsys fs.FS) (Bundle, []Finding) {
	r := &report{}
	return openBundle(fsys, 0, r), r.findings
}

// NameOf returns the name that the SKILL.md in the root of fsys has, "" if there is none that can be used.
func NameOf(fsys fs.FS) string {
	text, err := readText(fsys, fileSkill, maxSkillMD)
	if err != nil {
		return ""
	}
	return readSkillMD(text, "", &report{}).name
}
