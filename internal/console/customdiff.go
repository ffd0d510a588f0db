package console

import (
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/hotcell/hotcell/internal/catalog"
)

// change is what became of one part of a skill.
type change struct {
	What  string // a field or a file
	How   string // changed, added or removed
	Hunks []hunk
}

// hunk is some lines that changed, with those around them.
type hunk struct {
	From, To int
	Lines    []diffLine
}

// diffLine is a line of a diff: its class, its sign, and what the sign means.
type diffLine struct{ Class, Sign, Word, Text string }

// changes compares two states of a skill: fields first, then the instructions, then files.
func changes(before, after *catalog.Content) (all []change) {
	tools := func(c *catalog.Content) string {
		if c.AllowedTools == nil {
			return ""
		}
		return *c.AllowedTools
	}
	for _, part := range []struct{ what, before, after string }{
		{"Description", before.Description, after.Description}, {"License", before.License, after.License},
		{"Compatibility", before.Compatibility, after.Compatibility}, {"Allowed tools", tools(before), tools(after)},
		{"Metadata", metadataText(before.Metadata), metadataText(after.Metadata)}, {"Instructions", before.Body, after.Body},
	} {
		if part.before != part.after {
			all = append(all, compare(part.what, "changed", part.before, part.after))
		}
	}
	paths := slices.Concat(slices.Collect(maps.Keys(before.Files)), slices.Collect(maps.Keys(after.Files)))
	for _, path := range distinct(paths) {
		old, was := before.Files[path]
		now, is := after.Files[path]
		switch {
		case !was:
			all = append(all, compare(path, "added", old, now))
		case !is:
			all = append(all, compare(path, "removed", old, now))
		case old != now:
			all = append(all, compare(path, "changed", old, now))
		}
	}
	return all
}

// compare makes a diff of two texts, line by line.
func compare(what, how, before, after string) change {
	c := change{What: what, How: how}
	before, after = ended(before), ended(after)
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		return c // its edits are its own: they always fit
	}
	for _, h := range diff.Hunks {
		lines := hunk{From: h.FromLine, To: h.ToLine}
		for _, l := range h.Lines {
			one := diffLine{"same", " ", "", strings.TrimSuffix(l.Content, "\n")}
			switch l.Kind {
			case udiff.Delete:
				one.Class, one.Sign, one.Word = "gone", "-", "removed: "
			case udiff.Insert:
				one.Class, one.Sign, one.Word = "new", "+", "added: "
			}
			lines.Lines = append(lines.Lines, one)
		}
		c.Hunks = append(c.Hunks, lines)
	}
	return c
}

// ended has the last line end like all others.
func ended(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
