package skills

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

func skillKeys() map[string]setter {
	return map[string]setter{
		"$schema": nil, "name": nil, "description": nil, "license": nil, "compatibility": nil, "metadata": nil,
		"allowed-tools": nil,
	}
}

func checkKeys(root *node, r *report) {
	known := skillKeys()
	for _, f := range root.fields {
		if _, ok := known[f.key]; ok {
			continue
		}
		hint := ""
		if near := closest(f.key, slices.Collect(maps.Keys(known))); near != "" {
			hint = fmt.Sprintf("Did you mean %q?", near)
		}
		if _, ok := new(decoder).sidecarKeys(new(sidecar))[f.key]; ok {
			hint = "It belongs in skill.yaml."
		}
		r.soft(f.name, clip(f.key, 64), CodeUnknownTopLevelKey, hint, "Unknown frontmatter field '%s'.", clip(f.key, 64))
	}
}

// checkName returns the name if it is one that can be used.
func checkName(root *node, folder string, r *report) string {
	n := root.get("name")
	bad := func(code, format string, args ...any) {
		at := n
		if at == nil {
			at = root
		}
		r.at(fileSkill, at, "name", SeverityError, code, format, args...)
	}
	switch {
	case n == nil:
		bad(CodeNameRequired, "Field 'name' is required.")
		return ""
	case n.kind != stringKind || n.text == "":
		bad(CodeNameInvalid, "Field 'name' must be a non-empty string.")
		return ""
	}
	shown := clip(n.text, 80)
	good := true
	if strings.Contains(n.text, "--") {
		bad(CodeNameHyphens, "Field 'name' ('%s') must not contain consecutive hyphens.", shown)
		good = false
	}
	if !ValidName(n.text) {
		bad(CodeNamePattern, "Field 'name' ('%s') must be 1 to 64 of a-z, 0-9 and single hyphens, without a hyphen at either end.", shown)
		good = false
	}
	if folder != "" && n.text != folder {
		bad(CodeNameDirMismatch, "Skill 'name' ('%s') must equal the parent directory name ('%s').", shown, clip(folder, 80))
		good = false
	}
	if !good {
		return ""
	}
	return n.text
}

// ValidName reports whether a skill may have that name.
func ValidName(s string) bool {
	if s == "" || len(s) > 64 || strings.Contains(s, "--") || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// checkDescription returns the text. One that is too long is still what the skill says of itself.
func checkDescription(root *node, r *report) string {
	n := root.get("description")
	switch {
	case n == nil:
		r.at(fileSkill, root, "description", SeverityError, CodeDescriptionRequired, "Field 'description' is required.")
		return ""
	case n.kind != stringKind || strings.TrimSpace(n.text) == "":
		r.at(fileSkill, n, "description", SeverityError, CodeDescriptionInvalid, "Field 'description' must be a non-empty string.")
		return ""
	}
	tooLong(n, "description", CodeDescriptionTooLong, maxDescription, r)
	return strings.TrimSpace(n.text)
}

// tooLong counts characters, not bytes.
func tooLong(n *node, key, code string, most int, r *report) {
	if have := utf8.RuneCountInString(n.text); have > most {
		r.soft(n, key, code, "", "Field '%s' is %d characters; max is %d.", key, have, most)
	}
}

func checkLicense(root *node, r *report) string {
	return optionalText(root, "license", CodeLicenseInvalid, r)
}

func checkCompatibility(root *node, r *report) string {
	text := optionalText(root, "compatibility", CodeCompatInvalid, r)
	if text != "" {
		tooLong(root.get("compatibility"), "compatibility", CodeCompatTooLong, maxCompatibility, r)
	}
	return text
}

func optionalText(root *node, key, code string, r *report) string {
	n := root.get(key)
	switch {
	case n == nil:
	case n.kind != stringKind:
		r.soft(n, key, code, "", "Field '%s' must be a string.", key)
	default:
		return n.text
	}
	return ""
}

const badMetadata = "Field 'metadata' must be an object of string keys to string values."

// checkMetadata reads scalars as they are written, so that version: 1.0 stays "1.0". Only the worst value is reported: a
// nested one has no text that could stand for it, and is left out.
func checkMetadata(root *node, r *report) map[string]string {
	const key = "metadata"
	n := root.get(key)
	switch {
	case n == nil:
		return nil
	case n.kind != mapKind:
		r.soft(n, key, CodeMetadataInvalid, "", badMetadata)
		return nil
	}
	out := make(map[string]string, len(n.fields))
	var nested, typed *field
	for i := range n.fields {
		f := &n.fields[i]
		switch f.value.kind {
		case stringKind:
			out[f.key] = f.value.text
		case intKind, floatKind, boolKind:
			out[f.key] = f.value.text
			typed = firstField(typed, f)
		case listKind, mapKind, nullKind:
			nested = firstField(nested, f)
		}
	}
	switch {
	case nested != nil:
		r.add(Finding{
			Code: CodeMetadataValue, Severity: SeverityError, File: fileSkill, Path: key, Message: badMetadata,
			Line: nested.value.line, Column: nested.value.column,
			Hint: fmt.Sprintf("%s is %s.", join(key, nested.key), nested.value.kind),
		})
	case typed != nil:
		r.soft(typed.value, key, CodeMetadataValue,
			fmt.Sprintf("%s is read as the text %q: quote it.", join(key, typed.key), clip(typed.value.text, 32)), badMetadata)
	}
	return out
}

func firstField(have, next *field) *field {
	if have != nil {
		return have
	}
	return next
}

func checkBody(body string, line int, r *report) {
	lines := strings.Count(body, "\n") + 1
	if lines <= maxBodyLines && len(body) <= maxBodyBytes {
		return
	}
	r.at(fileSkill, &node{line: line, column: 1}, "body", SeverityWarning, CodeBodyOversize,
		"SKILL.md body is %d lines / %d bytes; keep it below %d lines and %d bytes, and move the rest into references/ files.",
		lines, len(body), maxBodyLines, maxBodyBytes)
}
