package curator

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// The caps of custom skills.
const (
	mostSkills      = catalog.MaxCustom
	mostFiles       = catalog.MaxSidecars
	mostBytes       = catalog.MaxCustomBytes
	mostDescription = catalog.MaxDescription
	mostPath        = 512 // bytes of a path
	mostPart        = 255 // and between two of its slashes
	frontEstimate   = 128 // bytes that the rest of a frontmatter counts
)

// requiredName returns the name of a draft.
func requiredName(d catalog.Draft) (string, error) {
	name := ""
	if d.Name != nil {
		name = strings.TrimSpace(*d.Name)
	}
	if name == "" {
		return "", refuse(catalog.ValidationError, "name is required.")
	}
	return name, nil
}

// checkFiles looks at the files of a draft, and nothing else.
func checkFiles(files map[string]string) error {
	if len(files) > mostFiles {
		return refuse(catalog.TooManyFiles, "A skill may have at most %d sidecar files.", mostFiles)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch {
		case name == entryFile:
			return refuse(catalog.ValidationError, "'%s' is the entry file and is generated from the skill's fields; it cannot be supplied in `files`.", entryFile)
		case !safePath(name):
			return refuse(catalog.ValidationError, "files path '%s' is not a plain relative path.", shown(name))
		case !utf8.ValidString(files[name]):
			return refuse(catalog.ValidationError, "files['%s'] must be UTF-8 text.", shown(name))
		case len(files[name]) > catalog.MaxRead:
			return tooLarge(name)
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, both := files[dir]; both || dir == entryFile {
				return refuse(catalog.ValidationError, "files path '%s' is a file, and a folder of '%s'.", shown(dir), shown(name))
			}
		}
	}
	return nil
}

func tooLarge(name string) error {
	return refuse(catalog.FileTooLarge, "'%s' exceeds the %d-byte per-file limit.", shown(name), catalog.MaxRead)
}

// safePath reports whether a path is a plain relative one that every file system takes.
func safePath(name string) bool {
	if name == "" || len(name) > mostPath || !utf8.ValidString(name) || strings.Contains(name, `\`) || strings.ContainsFunc(name, unicode.IsControl) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || len(part) > mostPart {
			return false
		}
	}
	return true
}

// checkCode makes sure that a principal may have what its skill carries.
func (c *Curator) checkCode(o catalog.Owner, files map[string]string) error {
	if name := codeFile(files); name != "" && !c.mayCode(o) {
		return refuse(catalog.Forbidden, "'%s' makes the skill run code, which policy.custom.code of the configuration does not let this principal do.", shown(name))
	}
	return nil
}

// merge lays a draft over what a skill is.
func merge(old catalog.Content, d catalog.Draft) (catalog.Content, error) {
	c := old
	for to, text := range map[*string]*string{&c.Description: d.Description, &c.License: d.License, &c.Compatibility: d.Compatibility} {
		if text != nil {
			*to = strings.TrimSpace(*text)
		}
	}
	if d.Body != nil {
		c.Body = *d.Body
	}
	switch {
	case d.RevokeTools:
		c.AllowedTools = nil
	case d.AllowedTools != nil:
		c.AllowedTools = d.AllowedTools
	}
	if d.Metadata != nil {
		c.Metadata = maps.Clone(*d.Metadata)
	}
	if d.Files != nil {
		c.Files = maps.Clone(*d.Files)
	}
	if utf8.RuneCountInString(c.Description) > mostDescription {
		return c, refuse(catalog.DescriptionLong, "description must be at most %d characters.", mostDescription)
	}
	return c, checkText(c)
}

// checkText makes sure that nothing is lost where texts are written as JSON or as YAML.
func checkText(c catalog.Content) error {
	texts := map[string]string{"description": c.Description, "license": c.License, "compatibility": c.Compatibility, "body": c.Body}
	if c.AllowedTools != nil {
		texts["allowed_tools"] = *c.AllowedTools
	}
	for key, value := range c.Metadata {
		texts["metadata"] += key + value
	}
	for _, field := range slices.Sorted(maps.Keys(texts)) {
		if !utf8.ValidString(texts[field]) {
			return refuse(catalog.ValidationError, "%s must be UTF-8 text.", field)
		}
		if field != "body" && strings.ContainsRune(texts[field], 0) {
			return refuse(catalog.ValidationError, "%s must not contain a NUL.", field)
		}
	}
	return nil
}

// checkTotal holds a skill against its budget.
func checkTotal(name string, c catalog.Content) error {
	total := len(c.Body) + len(name) + len(c.Description) + frontEstimate
	for _, content := range c.Files {
		total += len(content)
	}
	if total > mostBytes {
		return refuse(catalog.TotalSize, "Skill totals %d bytes, over the %d-byte budget.", total, mostBytes)
	}
	if len(skillMD(name, c)) > catalog.MaxRead {
		return tooLarge(entryFile)
	}
	return nil
}

// check holds what would be written against everything that a skill as a whole must be.
func (c *Curator) check(o catalog.Owner, name string, content catalog.Content) error {
	if err := checkTotal(name, content); err != nil {
		return err
	}
	return c.checkSkill(o, name, content)
}

// checkSkill holds what would be written to the format, strictly.
func (c *Curator) checkSkill(o catalog.Owner, name string, content catalog.Content) error {
	e := c.read(o, catalog.Record{Name: name, Content: content})
	s := e.part.Skill()
	var errs, warnings []skills.Finding
	for _, f := range s.Findings {
		if f.Severity == skills.SeverityError {
			errs = append(errs, f)
		} else {
			warnings = append(warnings, f)
		}
	}
	if len(errs) == 0 && !same(s, name, content) {
		return refuse(catalog.ValidationError, "The skill's fields do not survive being written as %s: use fewer unusual characters.", entryFile)
	}
	if len(errs) > 0 {
		return &catalog.Error{
			Code: catalog.SkillInvalid, Message: "The skill failed frontmatter validation.", Errors: findings(errs), Warnings: findings(warnings),
		}
	}
	return nil
}

// same reports whether SKILL.md says what the fields say.
func same(s *skills.Skill, name string, c catalog.Content) bool {
	tools := ""
	if c.AllowedTools != nil {
		tools = *c.AllowedTools
	}
	return s.Name == name && s.Description == c.Description && s.License == c.License && s.Compatibility == c.Compatibility &&
		s.AllowedTools == tools && maps.Equal(s.Annotations, c.Metadata)
}
