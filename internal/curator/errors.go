package curator

import (
	"fmt"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

func refuse(code catalog.Code, format string, args ...any) error {
	return &catalog.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func notFound(name string) error {
	return refuse(catalog.SkillNotFound, "Skill '%s' was not found.", shown(name))
}

func forbidden() error {
	return refuse(catalog.Forbidden, "Writing to a group principal requires group owner or admin rights.")
}

func conflict(name string) error {
	return refuse(catalog.Conflict, "Skill '%s' has another revision by now: read it again.", shown(name))
}

// maxShown is how much of a name is repeated, in bytes.
const maxShown = 128

func shown(s string) string {
	if len(s) <= maxShown {
		return s
	}
	s = s[:maxShown]
	for !utf8.ValidString(s) && s != "" {
		s = s[:len(s)-1]
	}
	return s + "..."
}

// findings are what a [skills.Skill] has, in the format's own words.
func findings(all []skills.Finding) []catalog.Finding {
	out := make([]catalog.Finding, len(all))
	for i, f := range all {
		path := f.Path
		if path == "" && f.File != entryFile {
			path = f.File
		}
		out[i] = catalog.Finding{Code: f.Code, Severity: string(f.Documented()), Message: f.Message, Path: path}
	}
	return out
}
