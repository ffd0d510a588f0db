package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/catalog"
)

// draftForm is a custom skill as the editor has it.
type draftForm struct {
	Name, Description, License, Compatibility, Tools, Metadata, Body string
	Files                                                            []*draftFile
	Revision                                                         string // that the edit began with
}

// draftFile is a sidecar file in the editor.
type draftFile struct {
	N       int
	Old     string // the path that it has in the store; "": it is new
	Path    string
	Content string
	Removed bool
	Focus   bool
}

// Bytes is the size of the file.
func (f *draftFile) Bytes() int64 { return int64(len(f.Content)) }

// formOf is the form of a skill as it is.
func formOf(s *catalog.Opened) *draftForm {
	f := &draftForm{
		Name: s.Name, Description: s.Description, License: s.License, Compatibility: s.Compatibility, Metadata: metadataText(s.Metadata), Body: s.Body,
		Revision: strconv.FormatInt(s.Revision, 10),
	}
	if s.AllowedTools != nil {
		f.Tools = *s.AllowedTools
	}
	for i, path := range slices.Sorted(maps.Keys(s.Content.Files)) {
		f.Files = append(f.Files, &draftFile{N: i, Old: path, Path: path, Content: s.Content.Files[path]})
	}
	return f
}

// draftForm reads the form.
func (v *visit) draftForm() *draftForm {
	line := func(name string) string { return strings.TrimSpace(normal(v.form(name))) }
	f := &draftForm{
		Name: line("name"), Description: line("description"), License: line("license"), Compatibility: line("compatibility"), Tools: line("tools"),
		Metadata: normal(v.form("metadata")), Body: normal(v.form("body")), Revision: clip(v.form("revision"), 20),
	}
	for i := range catalog.MaxSidecars + 2 {
		at := "file-" + strconv.Itoa(i) + "-"
		one := &draftFile{
			N: i, Old: v.form(at + "old"), Path: strings.TrimSpace(v.form(at + "path")), Content: normal(v.form(at + "content")), Removed: v.form(at+"remove") != "",
		}
		if one.Old != "" || one.Path != "" || one.Content != "" {
			f.Files = append(f.Files, one)
		}
	}
	for i, one := range f.Files {
		one.N = i
	}
	return f
}

// revision is what a form was made from.
func (v *visit) revision() int64 {
	n, err := strconv.ParseInt(v.form("revision"), 10, 64)
	if err != nil || n < 0 {
		return 0 // which none has
	}
	return n
}

// draft is what the form says, over what the skill is. What nobody touched stays as it is, to the byte.
func (f *draftForm) draft(now *catalog.Content) (catalog.Draft, error) {
	if now == nil {
		now = &catalog.Content{}
	}
	license, compatibility, body := keptLine(now.License, f.License), keptLine(now.Compatibility, f.Compatibility), kept(now.Body, f.Body)
	d := catalog.Draft{Name: &f.Name, Description: &f.Description, License: &license, Compatibility: &compatibility, Body: &body, Provenance: "human"}
	switch {
	case now.AllowedTools != nil && keptLine(*now.AllowedTools, f.Tools) != f.Tools: // it is as it was
		d.AllowedTools = now.AllowedTools
	case f.Tools != "":
		d.AllowedTools = &f.Tools
	case now.AllowedTools != nil && *now.AllowedTools != "":
		d.RevokeTools = true
	}
	metadata, err := readMetadata(f.Metadata)
	if err != nil {
		return d, err
	}
	if f.Metadata == normal(metadataText(now.Metadata)) {
		metadata = maps.Clone(now.Metadata)
	}
	d.Metadata = &metadata
	files := map[string]string{}
	for _, one := range f.Files {
		switch _, twice := files[one.Path]; {
		case one.Removed:
		case one.Path == "":
			return d, &formFault{"files", "a file has no path: give it one, such as references/more.md, or tick Remove"}
		case twice:
			return d, &formFault{"files", "two files have the path " + clip(one.Path, 128) + ": change one of them"}
		default:
			files[one.Path] = kept(now.Files[one.Old], one.Content)
		}
	}
	d.Files = &files
	return d, nil
}

// kept is what was typed, or what was there before where a browser gave back the same in its own way.
func kept(old, typed string) string {
	if strings.ReplaceAll(normal(old), "\x00", "\uFFFD") == typed {
		return old
	}
	return typed
}

// keptLine is the same for fields of one line, which browsers take line ends from.
func keptLine(old, typed string) string {
	if strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "", "\x00", "\uFFFD").Replace(old)) == strings.TrimSpace(typed) {
		return old
	}
	return typed
}

// content is what a skill would be by a draft of the editor's, which names everything.
func content(d catalog.Draft, now *catalog.Content) *catalog.Content {
	c := &catalog.Content{
		Description: *d.Description, License: *d.License, Compatibility: *d.Compatibility, AllowedTools: d.AllowedTools, Metadata: *d.Metadata, Body: *d.Body, Files: *d.Files,
	}
	if d.AllowedTools == nil && !d.RevokeTools {
		c.AllowedTools = now.AllowedTools
	}
	return c
}

// metadataText is metadata as it is typed: "key: value" on each line, or JSON where that does not do.
func metadataText(all map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		value := all[key]
		if key == "" || strings.ContainsAny(key, ":\r\n\x00") || strings.ContainsAny(value, "\r\n\x00") || key != strings.TrimSpace(key) ||
			value != strings.TrimSpace(value) || key[0] == '{' {
			return jsonText(all)
		}
		b.WriteString(key + ": " + value + "\n")
	}
	return b.String()
}

// readMetadata reads what [metadataText] writes, and what people type.
func readMetadata(typed string) (map[string]string, error) {
	all := map[string]string{}
	if strings.HasPrefix(strings.TrimSpace(typed), "{") {
		if json.Unmarshal([]byte(typed), &all) != nil {
			return nil, &formFault{"metadata", `metadata: expected JSON with texts as values, such as {"team": "data"}, or "key: value" on each line`}
		}
		return all, nil
	}
	for i, line := range strings.Split(typed, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		if _, twice := all[key]; !ok || key == "" || twice {
			return nil, &formFault{"metadata", fmt.Sprintf(`metadata, line %d: expected "key: value", each key once`, i+1)}
		}
		all[key] = strings.TrimSpace(value)
	}
	return all, nil
}
