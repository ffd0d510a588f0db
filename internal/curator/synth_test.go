package curator

import (
	"io/fs"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

func TestSkillMD(t *testing.T) {
	tools := "agent read_url"
	got := skillMD("my-skill", catalog.Content{
		Description: "Does it. Use when needed.", License: "MIT", Compatibility: "needs: a host", AllowedTools: &tools,
		Metadata: map[string]string{"version": "1.0", "author": "Ä", "true": "yes", "team name": "blue team"}, Body: "# My skill\n",
	})
	want := `---
name: my-skill
description: Does it. Use when needed.
license: "MIT"
compatibility: "needs: a host"
allowed-tools: agent read_url
metadata:
  author: "Ä"
  team name: blue team
  "true": "yes"
  version: "1.0"
---

# My skill
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Whatever a skill's fields are, its SKILL.md says the same, or they are refused: nothing is lost.
func TestSkillMDSaysWhatTheFieldsSay(t *testing.T) {
	odd := rapid.OneOf(
		rapid.StringOf(rapid.RuneFrom([]rune(" \t\n\r'\"#:-,[]{}|>&*!%@`?~\\/=<>\u0085\u00a0\u2028\ufeff\x01\x7f\u202e技é😀null0xe1"))),
		rapid.SampledFrom([]string{"", "null", "~", "true", "No", "1e3", "0x1F", "1_000", "2020-01-01", ".inf", "-", "---", "a: b", "a #b", "%YAML", "? a", "| x", "&a b", "*a", "!t x", "<<"}),
		rapid.String(),
	).Filter(utf8.ValidString)
	c := New(Config{Shipped: library(t, nil)})
	refusals, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		license, compatibility, description, tools, body := odd.Draw(t, "license"), odd.Draw(t, "compatibility"), odd.Draw(t, "description"), odd.Draw(t, "tools"), odd.Draw(t, "body")
		metadata := map[string]string{odd.Draw(t, "k"): odd.Draw(t, "v"), "x": odd.Draw(t, "x")}
		content, err := merge(catalog.Content{}, catalog.Draft{
			License: &license, Compatibility: &compatibility, Description: &description, AllowedTools: &tools, Metadata: &metadata, Body: &body,
		})
		total++
		if err == nil {
			err = c.check(self(alice), "my-skill", content)
		}
		if err != nil {
			refusals++
			if codeOf(err) != catalog.SkillInvalid && codeOf(err) != catalog.ValidationError {
				t.Fatal(err)
			}
			return
		}
		e := c.read(self(alice), catalog.Record{Name: "my-skill", Content: content})
		s := e.part.Skill()
		if !same(s, "my-skill", content) || s.Status != skills.Published || !maps.Equal(s.Annotations, content.Metadata) {
			t.Fatalf("%+v of %+v", s, content)
		}
		text, err := fs.ReadFile(s.Bundle.FS, entryFile)
		if err != nil || !strings.HasSuffix(string(text), "---\n\n"+body) {
			t.Fatalf("%q, %v", text, err)
		}
	})
	if refusals == total {
		t.Error("nothing passes")
	}
}

// Fields that nothing is wrong with are never refused for how they are written.
func TestOrdinaryFieldsPass(t *testing.T) {
	c := New(Config{Shipped: library(t, nil)})
	runes := rapid.StringOf(rapid.RuneFrom([]rune("abcXYZ 0123456789.,:;!?'\"#-_()[]{}<>|&*%@`~\\/=\n\té技😀")))
	text := rapid.Map(runes, strings.TrimSpace)
	rapid.Check(t, func(t *rapid.T) {
		content := catalog.Content{
			Description: "x" + text.Draw(t, "description"), License: text.Draw(t, "license"), Compatibility: text.Draw(t, "compatibility"),
			Metadata: map[string]string{text.Draw(t, "key"): text.Draw(t, "value")}, Body: text.Draw(t, "body"),
		}
		if err := c.check(self(alice), "my-skill", content); err != nil {
			t.Fatalf("%+v: %v", content, err)
		}
	})
}
