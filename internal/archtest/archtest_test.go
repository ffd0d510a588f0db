package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestPlan(t *testing.T) {
	code, err := readTree(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range hotcell().check(code) {
		t.Error(finding)
	}
}

// small is a plan and a module that keeps it; each case of TestRules breaks one rule of it.
func small() (plan, fstest.MapFS) {
	p := plan{
		folders:  []string{"cmd", "words", "contract", "sibling", "adapter", "door", "help"},
		floors:   map[string]int{"words": 0, "help": 0, "contract": 1, "sibling": 1, "adapter": 3, "door": 5, "cmd/tool": 6},
		testOnly: map[string]bool{"help": true},
		edges:    map[string][]string{"contract": {"sibling"}},
		only:     map[string][]string{"door": {"words"}},
		reach:    map[string][]string{"cmd/tool": {"door", "words"}},
		dependencies: []dependency{
			{"example.org/engine", []string{"adapter"}, "one home"},
			{"example.org/compare", nil, "for tests"},
		},
		renames: map[string]string{"adapter/kept.go": "it is nobody's"},
	}
	return p, fstest.MapFS{
		"go.mod":                  text("module m"),
		"words/doc.go":            text("// Package words has words.", "package words"),
		"words/words_test.go":     text("package words_test", imports("example.org/compare", "m/help", "m/words")),
		"help/doc.go":             text("// Package help helps.", "package help", imports("example.org/compare", "testing")),
		"contract/doc.go":         text("// Package contract is one.", "package contract", imports("m/words", "m/sibling")),
		"sibling/doc.go":          text("// Package sibling is one.", "package sibling"),
		"adapter/doc.go":          text("// Package adapter is one.", "package adapter", imports("example.org/engine/client", "m/contract")),
		"door/doc.go":             text("// Package door is one.", "package door", imports("net/http", "m/words")),
		"cmd/tool/main.go":        text("// Command tool is one.", "package main", imports("m/door")),
		"adapter/kept.go":         text("package adapter", imports("os"), "func g() { _ = os.Rename(a, b) }"),
		"words/testdata/bad.go":   text("not Go at all"),
		".hidden/x.go":            text("package x"),
		"bin/README":              text("built"),
		"adapter/adapter_test.go": text("package adapter", imports("m/contract", "m/help"), strings.Repeat("//\n", maxFile+1)),
	}
}

func TestRules(t *testing.T) {
	long := "func long() {\n" + strings.Repeat("\t_ = 0\n", maxFunction) + "}"
	tests := []struct {
		name  string
		files map[string]*fstest.MapFile // added or put in another's place
		ghost string                     // a package that the plan alone knows
		want  []string                   // how the findings start, in order
	}{
		{name: "all is well"},
		{
			name:  "folder",
			files: files("util/README", text("misc")),
			want:  []string{"util: no folder of the plan"},
		},
		{
			name:  "unknown package",
			files: files("words/more/doc.go", text("// Package more is new.", "package more")),
			want:  []string{"words/more: unknown package: give it a floor"},
		},
		{
			name:  "stale row",
			ghost: "contract/ghost",
			want:  []string{"contract/ghost: in the table of floors, but there is no such package"},
		},
		{
			name:  "upwards",
			files: files("contract/x.go", text("package contract", imports("m/adapter"))),
			want:  []string{"contract/x.go imports m/adapter: floor 1 can't import floor 3"},
		},
		{
			name:  "upwards in a test",
			files: files("contract/x_test.go", text("package contract", imports("m/adapter"))),
			want:  []string{"contract/x_test.go imports m/adapter: a test on floor 1 can't reach up to floor 3"},
		},
		{
			name:  "sibling without an edge",
			files: files("sibling/x.go", text("package sibling", imports("m/contract"))),
			want:  []string{"sibling/x.go imports m/contract: both are on floor 1"},
		},
		{
			name:  "words with a dependency",
			files: files("words/x.go", text("package words", imports("example.org/engine"))),
			want: []string{
				"words/x.go imports example.org/engine: floor 0 has the standard library alone",
				"cmd/tool reaches example.org/engine: it may contain the standard library alone",
				"words/x.go imports example.org/engine: its homes are adapter (one home)",
			},
		},
		{
			name:  "a test helper in the product",
			files: files("adapter/x.go", text("package adapter", imports("m/help"))),
			want:  []string{"adapter/x.go imports m/help: tests alone may import it"},
		},
		{
			name:  "a door that knows too much",
			files: files("door/x.go", text("package door", imports("m/contract"))),
			want: []string{
				"door/x.go imports m/contract: it may import only words",
				"cmd/tool reaches contract: it may contain only door, words",
				"cmd/tool reaches sibling: it may contain only door, words",
			},
		},
		{
			name:  "unlisted dependency, build tags or not",
			files: files("adapter/x_windows.go", text("//go:build windows", "", "package adapter", imports("example.org/engineer"))),
			want:  []string{"adapter/x_windows.go imports example.org/engineer: unlisted dependency"},
		},
		{
			name:  "a test library in the product",
			files: files("adapter/x.go", text("package adapter", imports("example.org/compare"))),
			want:  []string{"adapter/x.go imports example.org/compare: tests alone use it (for tests)"},
		},
		{
			name:  "stale dependency",
			files: files("adapter/doc.go", text("// Package adapter is one.", "package adapter")),
			want:  []string{"example.org/engine: in the table of dependencies, but nothing imports it"},
		},
		{
			name:  "stale home",
			files: files("adapter/doc.go", text("// Package adapter is one.", "package adapter"), "door/x.go", text("package door", imports("example.org/engine"))),
			want: []string{
				"cmd/tool reaches example.org/engine",
				"door/x.go imports example.org/engine: its homes are adapter",
				"example.org/engine: adapter is listed as a home and doesn't import it",
			},
		},
		{
			name:  "no comment",
			files: files("sibling/doc.go", text("package sibling")),
			want:  []string{"sibling: wants one package comment, in doc.go; found it in []"},
		},
		{
			name:  "comments in two places, one wrong",
			files: files("cmd/tool/x.go", text("// Some words.", "package main")),
			want: []string{
				`cmd/tool/x.go: the package comment must start with "Command tool "`,
				"cmd/tool: wants one package comment, in doc.go or main.go; found it in [main.go x.go]",
			},
		},
		{
			name:  "a function as long as the rule permits, and a longer one",
			files: files("adapter/x.go", text("package adapter", strings.Replace(long, "\t_ = 0\n\t_ = 0\n", "", 1), strings.Replace(long, "long", "longer", 1))),
			want:  []string{fmt.Sprintf("adapter/x.go: func longer has %d lines, at most %d", maxFunction+2, maxFunction)},
		},
		{
			name:  "a rename that the power can undo",
			files: files("adapter/x.go", text("package adapter", imports("os"), "func f() { _ = os.Rename(a, b) }"), "adapter/kept.go", text("package adapter")),
			want:  []string{"adapter/x.go: uses os.Rename or os.Link: use internal/durable", "adapter/kept.go: in the table of renames, but it renames nothing"},
		},
		{
			name:  "long file",
			files: files("adapter/x.go", text("package adapter", strings.Repeat("//\n", maxFile))),
			want:  []string{fmt.Sprintf("adapter/x.go: %d lines, at most %d", maxFile+2, maxFile)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, module := small()
			maps.Copy(module, tt.files)
			if tt.ghost != "" {
				p.floors[tt.ghost] = 1
			}
			got := p.check(read(t, module))
			for i := range min(len(got), len(tt.want)) {
				if strings.HasPrefix(got[i], tt.want[i]) {
					got[i] = tt.want[i]
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadTreeFails(t *testing.T) {
	for name, module := range map[string]fstest.MapFS{
		"no go.mod":        {},
		"no module":        {"go.mod": text("go 1.26")},
		"x/bad.go":         {"go.mod": text("module m"), "x/bad.go": text("package")},
		"not a valid path": {"go.mod": text("module m"), "x/a.go": text("package x", `import "a`)},
	} {
		if _, err := readTree(module); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func read(t *testing.T, module fs.FS) *tree {
	t.Helper()
	code, err := readTree(module)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func text(lines ...string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(strings.Join(lines, "\n") + "\n")}
}

func imports(paths ...string) string {
	return "import (\n\t_ \"" + strings.Join(paths, "\"\n\t_ \"") + "\"\n)"
}

func files(pairs ...any) map[string]*fstest.MapFile {
	m := map[string]*fstest.MapFile{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1].(*fstest.MapFile)
	}
	return m
}
