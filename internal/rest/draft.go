package rest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// draftBody is what a write of a custom skill carries.
type draftBody struct {
	PrincipalID   *int64             `json:"principal_id,omitempty" doc:"whose skill it is; the same as ?principal_id="`
	Name          *string            `json:"name,omitempty" doc:"required on create; on update it must be the one in the path"`
	Description   *string            `json:"description,omitempty" doc:"at most 1024 characters"`
	License       *string            `json:"license,omitempty"`
	Compatibility *string            `json:"compatibility,omitempty"`
	AllowedTools  *string            `json:"allowed_tools,omitempty" doc:"null revokes it"`
	Metadata      *map[string]any    `json:"metadata,omitempty" doc:"scalars; they are kept as strings"`
	Body          *string            `json:"body,omitempty" doc:"SKILL.md without its frontmatter"`
	Files         *map[string]string `json:"files,omitempty" doc:"the other files, by path"`
}

// nothing is a body that says nothing.
type nothing struct{}

func readNothing(r *http.Request) error {
	f, err := readFields(r, true)
	if err != nil {
		return err
	}
	return f.end()
}

// readDraft reads a write and whose skill it means: 0 is the caller's own.
func readDraft(r *http.Request) (d catalog.Draft, whose int64, err error) {
	f, err := readFields(r, false)
	if err != nil {
		return d, 0, err
	}
	whose = f.id("principal_id")
	if asked := principal(r); whose == 0 {
		whose = asked
	} else if asked != 0 && asked != whose {
		f.refuse(invalid("principal_id: the body says %d, the query %d", whose, asked))
	}
	d = catalog.Draft{
		Name: f.text("name"), Description: f.text("description"), License: f.clearable("license"),
		Compatibility: f.clearable("compatibility"), Body: f.text("body"), AllowedTools: f.text("allowed_tools"),
		RevokeTools: f.null("allowed_tools"), Metadata: f.scalars("metadata"), Files: f.files("files"), Provenance: "human",
	}
	return d, whose, f.end()
}

// clearable reads a string that null makes empty.
func (f *fields) clearable(field string) *string {
	s := f.text(field)
	if s == nil && f.null(field) {
		s = new(string)
	}
	return s
}

// scalars reads an object of scalars, as strings. null removes all.
func (f *fields) scalars(field string) *map[string]string {
	all := map[string]string{}
	if f.get(field); f.null(field) {
		return &all
	}
	in := f.object(field)
	if in == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(in.raw)) {
		raw := in.raw[name]
		switch raw[0] {
		case '"':
			var s string
			_ = json.Unmarshal(raw, &s) // it is valid JSON
			all[name] = s
		case '{', '[', 'n':
			f.refuse(invalid("%s: expected a string, a number, true or false, got %s", in.name(name), a2e.JSONKind(raw)))
			return nil
		default:
			all[name] = string(raw)
		}
	}
	return &all
}

// files reads an object of texts by path.
func (f *fields) files(field string) *map[string]string {
	in := f.object(field)
	if in == nil {
		return nil
	}
	all := make(map[string]string, len(in.raw))
	for _, path := range slices.Sorted(maps.Keys(in.raw)) {
		raw := in.raw[path]
		var s *string
		if json.Unmarshal(raw, &s) != nil || s == nil {
			f.refuse(invalid("%s: expected the file's content as a string, got %s", in.name(path), a2e.JSONKind(raw)))
			return nil
		}
		all[path] = *s
	}
	return &all
}
