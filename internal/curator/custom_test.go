package curator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/catalog"
)

// What is written is read back to the byte, wherever it is read.
func TestACustomSkillIsReadAsItWasWritten(t *testing.T) {
	r := newRig(t)
	d := withFiles(draft("notes"), "references/a.md", "a\r\n\xef\xbb\xbf b\n", ".hidden", "h", "examples.md", "")
	d.License, d.Compatibility, d.AllowedTools = ptr("MIT"), ptr("Any: \"host\" #1"), ptr("read_url  agent")
	d.Metadata = &map[string]string{"version": "1.0", "true": "null", "a b": "ü\n\t'\"", "empty": ""}
	d.Body = ptr("\n\n---\nBody\r\n---\n")
	d.Description = ptr("  Notes: what \"was\" said, #1 — 技能\\n.  ")
	made := r.create(t, alice, 0, d)
	want := &catalog.CustomSkill{
		ID: made.ID, Principal: r.number(t, alice), Name: "notes", Description: "Notes: what \"was\" said, #1 — 技能\\n.", License: "MIT",
		Compatibility: *d.Compatibility, AllowedTools: d.AllowedTools, Metadata: *d.Metadata, Body: *d.Body, Provenance: "human",
		CreatedBy: made.Principal, UpdatedBy: made.Principal, Created: made.Created, Updated: made.Created, Revision: made.Revision,
		Warnings: []catalog.Finding{}, Files: []catalog.File{
			{Path: "SKILL.md", Bytes: made.Files[0].Bytes}, {Path: ".hidden", Bytes: 1}, {Path: "examples.md"}, {Path: "references/a.md", Bytes: 9},
		},
	}
	if d := cmp.Diff(want, made); d != "" || made.Created.IsZero() {
		t.Error(d)
	}
	for name, other := range map[string]*rig{"here": r, "in another process": r.again(t)} {
		got, err := other.Show(t.Context(), alice, 0, " notes ")
		if d := cmp.Diff(made, got); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
		all, err := other.List(t.Context(), alice, made.Principal)
		if d := cmp.Diff([]catalog.CustomSkill{*made}, all); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
		detail, err := other.Skill(t.Context(), alice, " NOTES ", 0)
		if err != nil || detail.Body != *d.Body || detail.AllowedTools != *d.AllowedTools || detail.Source != SourceCustom || !cmp.Equal(detail.Files, made.Files) ||
			!cmp.Equal(detail.RequiredTools, []string{"read_url", "agent"}) || detail.Principal != made.Principal || detail.Files[0].Path != "SKILL.md" {
			t.Errorf("%s: %+v, %v", name, detail, err)
		}
		for path, content := range *d.Files {
			for _, principal := range []int64{0, made.Principal} {
				got, err := other.Read(t.Context(), alice, principal, "notes", path)
				if err != nil || string(got) != content {
					t.Errorf("%s: %s: %q, %v", name, path, got, err)
				}
				if got, err = other.File(t.Context(), alice, "notes", path, principal); err != nil || string(got) != content {
					t.Errorf("%s: %s: %q, %v", name, path, got, err)
				}
			}
		}
		one, err := other.Read(t.Context(), alice, 0, "notes", "SKILL.md")
		two, err2 := other.File(t.Context(), alice, "notes", "SKILL.md", 0)
		if err != nil || err2 != nil || string(one) != string(two) || int64(len(one)) != made.Files[0].Bytes {
			t.Errorf("%s: %q, %q, %v, %v", name, one, two, err, err2)
		}
	}
}
