package install

import (
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// The codes of what can be wrong with an archive.
const (
	CodeKind      = "ARCHIVE_KIND"      // another kind than what was declared
	CodeBroken    = "ARCHIVE_BROKEN"    // it can't be read to its end
	CodeEntries   = "ARCHIVE_ENTRIES"   // too many files or folders
	CodeSize      = "ARCHIVE_SIZE"      // too many bytes
	CodeRatio     = "ARCHIVE_RATIO"     // a small archive that becomes large
	CodePath      = "ARCHIVE_PATH"      // a name that leads elsewhere, or that can't be used
	CodeDuplicate = "ARCHIVE_DUPLICATE" // a name that is there twice, or that differs from another by case alone
	CodeLink      = "ARCHIVE_LINK"      // a symbolic or hard link
	CodeSpecial   = "ARCHIVE_SPECIAL"   // neither a file nor a folder
	CodeEncrypted = "ARCHIVE_ENCRYPTED"
)

// bad is what is wrong with an archive; name is the entry's, where it is about one.
func bad(code, name, format string, args ...any) error {
	f := catalog.Finding{Code: code, Severity: string(skills.SeverityError), Message: fmt.Sprintf(format, args...), Path: show(name)}
	return &catalog.Error{Code: catalog.BundleInvalid, Message: f.Message, Errors: []catalog.Finding{f}}
}

func broken(err error) error {
	return bad(CodeBroken, "", "the archive can't be read: %s", show(err.Error()))
}

// show makes a text of others fit to be shown.
func show(text string) string {
	const most = 200
	text = strings.ToValidUTF8(text, "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if !printable(r) {
			return ' '
		}
		return r
	}, text)
}

func fault(code catalog.Code, format string, args ...any) error {
	return &catalog.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// findings are those of a skill in the catalogue's words.
func findings(list []skills.Finding) []catalog.Finding {
	out := make([]catalog.Finding, 0, len(list))
	for _, f := range list {
		out = append(out, catalog.Finding{
			Code: f.Code, Severity: string(f.Documented()), Message: f.Message, Path: f.Path, File: f.File, Line: f.Line, Column: f.Column,
		})
	}
	return out
}
