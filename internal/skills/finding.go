package skills

import (
	"fmt"
	"strconv"
)

// The codes of findings about SKILL.md and about the folder, as the SKILL.md validators name them.
const (
	CodeUnreadable          = "SKILL_MD_UNREADABLE"
	CodeFrontmatterMissing  = "SKILL_FRONTMATTER_MISSING"
	CodeNameConflict        = "SKILL_NAME_CONFLICT"
	CodeFrontmatterEmpty    = "EMPTY_FRONTMATTER"
	CodeUnknownTopLevelKey  = "UNKNOWN_TOP_LEVEL_KEY"
	CodeNameRequired        = "NAME_REQUIRED"
	CodeNameInvalid         = "NAME_INVALID"
	CodeNameHyphens         = "NAME_CONSECUTIVE_HYPHEN"
	CodeNamePattern         = "NAME_PATTERN"
	CodeNameDirMismatch     = "NAME_DIR_MISMATCH"
	CodeDescriptionRequired = "DESCRIPTION_REQUIRED"
	CodeDescriptionInvalid  = "DESCRIPTION_INVALID"
	CodeDescriptionTooLong  = "DESCRIPTION_TOO_LONG"
	CodeLicenseInvalid      = "LICENSE_INVALID"
	CodeCompatInvalid       = "COMPATIBILITY_INVALID"
	CodeCompatTooLong       = "COMPATIBILITY_TOO_LONG"
	CodeMetadataInvalid     = "METADATA_INVALID"
	CodeMetadataValue       = "METADATA_VALUE_INVALID"
	CodeAllowedTools        = "ALLOWED_TOOLS_INVALID"
	CodeUnknownTool         = "ALLOWED_TOOLS_UNKNOWN_TOOL"
	CodeBodyOversize        = "SKILL_BODY_OVERSIZE"
)

// The codes of findings that are hotcell's own: about skill.yaml and about what this version can run.
const (
	CodeYAML           = "YAML_INVALID"      // not YAML, or YAML that is refused (aliases, tags)
	CodeUnknownKey     = "UNKNOWN_KEY"       // of skill.yaml
	CodeWrongType      = "WRONG_TYPE"        // a string where a list is needed
	CodeInvalidValue   = "INVALID_VALUE"     // right type, wrong value
	CodeSchemaInvalid  = "SCHEMA_INVALID"    // input_schema or output_schema does not compile
	CodeSchemaNoType   = "SCHEMA_NO_TYPE"    // a schema that does not say "type"
	CodeScriptMissing  = "SCRIPT_MISSING"    // run names a file that is not there
	CodeImageMissing   = "IMAGE_MISSING"     // nothing says which image to use
	CodeUnsupported    = "UNSUPPORTED"       // this version cannot run it
	CodeToolMissing    = "TOOL_MISSING"      // tools names what this host has not
	CodeToolkitMissing = "TOOLKIT_MISSING"   // toolkits names what this host has not
	CodeReadOnly       = "READ_ONLY_WRITES"  // a tool writes, though the skill may only read
	CodeLimitCut       = "LIMIT_CUT"         // asks for more than it can get
	CodeTooLarge       = "BUNDLE_TOO_LARGE"  // too many files, bytes or levels
	CodeBadFile        = "BUNDLE_FILE"       // a file that cannot be part of a bundle
	CodeNoSkill        = "SKILL_MD_MISSING"  // a folder without SKILL.md
	CodeTooMany        = "TOO_MANY_FINDINGS" // the rest is left out
	CodeUnreadableFile = "BUNDLE_UNREADABLE" // a file that cannot be read
	CodeNoCode         = "CODE_NOT_ALLOWED"  // a custom skill whose principal may not bring code
	codeStatusBlocked  = "STATUS_BLOCKED"    // its author blocked it
	maxFindings        = 100                 // a bundle is hostile: so many and no more
)

// The codes of findings that the skill protocol names itself, in its own words.
const (
	CodeCycle      = "cycle_detected"     // includes lead back to the skill
	CodeResolution = "resolution_failure" // includes names a skill that is not there, or cannot be used
)

// String renders a finding as "FILE:LINE:COL: severity: message hint [CODE]".
func (f Finding) String() string {
	text := f.Message
	if f.Hint != "" {
		text += " " + f.Hint
	}
	return fmt.Sprintf("%s: %s: %s [%s]", f.where(), f.Severity, text, f.Code)
}

// Documented is the severity that the format's own validators give, whatever the profile makes of it.
func (f Finding) Documented() Severity {
	if f.Softened {
		return SeverityError
	}
	return f.Severity
}

func (f Finding) where() string {
	s := f.File
	if f.Line > 0 {
		s += ":" + strconv.Itoa(f.Line)
		if f.Column > 0 {
			s += ":" + strconv.Itoa(f.Column)
		}
	}
	return s
}

// report collects the findings of one bundle.
type report struct {
	findings []Finding
	profile  Profile
}

func (r *report) add(f Finding) {
	switch {
	case len(r.findings) < maxFindings:
		r.findings = append(r.findings, f)
	case len(r.findings) == maxFindings:
		r.findings = append(r.findings, Finding{
			Code: CodeTooMany, Severity: SeverityError, File: f.File, Message: "more findings than are listed", Line: f.Line, Column: f.Column,
		})
	}
}

// at adds a finding about a node of a YAML file; n may be nil.
func (r *report) at(file string, n *node, path string, sev Severity, code, format string, args ...any) {
	f := Finding{Code: code, Severity: sev, Message: fmt.Sprintf(format, args...), File: file, Path: path}
	if n != nil {
		f.Line, f.Column = n.line, n.column
	}
	r.add(f)
}

// soft adds a finding that is an error for the strict profile and a warning for the lenient one.
func (r *report) soft(n *node, path, code, hint, format string, args ...any) {
	f := Finding{Code: code, Severity: SeverityError, Message: fmt.Sprintf(format, args...), Hint: hint, File: fileSkill, Path: path}
	if r.profile == Lenient {
		f.Severity, f.Softened = SeverityWarning, true
	}
	if n != nil {
		f.Line, f.Column = n.line, n.column
	}
	r.add(f)
}

// firstError returns the finding that blocks the skill, or nil.
func (r *report) firstError() *Finding { return r.firstErrorIn("") }

// firstErrorIn returns the first error about a file, or nil.
func (r *report) firstErrorIn(file string) *Finding {
	for i := range r.findings {
		f := &r.findings[i]
		if f.Code == CodeMetadataValue && r.profile == Lenient {
			continue // the format calls it an error, but the skill does without the value
		}
		if f.Severity == SeverityError && (file == "" || f.File == file) {
			return f
		}
	}
	return nil
}
