package skills

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// testBox has the tools reader, writer and later, and the toolkit mcp:files.
type testBox struct {
	version uint64
	open    bool // nobody knows what mcp:files holds
}

func (b *testBox) Tool(name string) Found {
	switch name {
	case "reader", "writer":
		return Found{Tools: []Tool{{Name: name, Source: ToolBuiltin, Writes: name == "writer"}}}
	case "mcp:files/read", "mcp:files/write":
		if b.open {
			return Found{Open: true}
		}
		return Found{Tools: []Tool{{Name: name, Source: ToolMCP, Writes: name == "mcp:files/write"}}}
	}
	return Found{Missing: "this host has no tool " + quote(name)}
}

func (b *testBox) Toolkit(name string) Found {
	switch {
	case name != "mcp:files":
		return Found{Missing: "this host has no toolkit " + quote(name)}
	case b.open:
		return Found{Open: true}
	}
	return Found{Tools: append(b.Tool("mcp:files/read").Tools, b.Tool("mcp:files/write").Tools...)}
}

func (b *testBox) Version() uint64 { return b.version }

// company is a library of skills, each given as "name" and its skill.yaml.
func company(t *testing.T, box Toolbox, pairs ...string) *Library {
	t.Helper()
	files := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i]
		files[name+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: x\n---\n")}
		files[name+"/main.py"] = &fstest.MapFile{Data: []byte("print(1)\n")}
		files[name+"/skill.yaml"] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	l, err := LoadWith([]Source{{Label: SourceProject, FS: files, Path: "test"}}, box, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func found(t *testing.T, l *Library, name string) *Skill {
	t.Helper()
	s, _ := l.Find(name)
	if s == nil {
		t.Fatalf("no skill %s", name)
	}
	return s
}

func TestIncludesAreFlattenedInOrder(t *testing.T) {
	l := company(t, &testBox{},
		"top", "includes: [left, right]\ntools: [skill:leaf, {tool: reader, note: x}]\nwrites: true\n",
		"left", "includes: [leaf]\ntools: [mcp:files/read]\ntoolkits: [mcp:files]\nwrites: true\n",
		"right", "includes: [leaf]\ntools: [reader, writer]\nwrites: true\n",
		"leaf", "tools: [reader]\n",
	)
	s := found(t, l, "top")
	if s.Status != Published {
		t.Fatalf("%s: %s", s.Status, s.BlockedWhy)
	}
	// its own, then left's own, then those of left's leaf, then right's; reader counts where it is first
	if diff := cmp.Diff([]string{"skill:leaf", "reader", "mcp:files/read", "writer"}, s.ToolNames); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"skill:leaf", map[string]any{"tool": "reader", "note": "x"}, "mcp:files/read", "writer"}, s.Definition().Tools); diff != "" {
		t.Errorf("the manifest's tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"mcp:files"}, s.ToolkitNames); diff != "" {
		t.Errorf("toolkits (-want +got):\n%s", diff)
	}
	want := []Tool{
		{"skill:leaf", ToolSkill, false}, {"reader", ToolBuiltin, false}, {"mcp:files/read", ToolMCP, false},
		{"writer", ToolBuiltin, true}, {"mcp:files/write", ToolMCP, true},
	}
	if diff := cmp.Diff(want, s.Resolved); diff != "" {
		t.Errorf("resolved (-want +got):\n%s", diff)
	}
}

func TestWhatBlocksASkillInCompany(t *testing.T) {
	for name, tt := range map[string]struct {
		skills []string
		want   []string // "name: finding"
	}{
		"missing include": {
			[]string{"a", "tags: [x]\nincludes: [nobody, b]\n", "b", ""},
			[]string{`a: skill.yaml:2:11: error: includes: there is no skill "nobody" [resolution_failure]`},
		},
		"itself": {
			[]string{"a", "includes: [a]\n"},
			[]string{`a: skill.yaml:1:11: error: includes: a → a is a cycle [cycle_detected]`},
		},
		"three in a circle, and one that looks on": {
			[]string{"a", "includes: [b]\n", "b", "includes: [c]\n", "c", "includes: [a]\n", "d", "includes: [b]\n", "e", ""},
			[]string{
				`a: skill.yaml:1:11: error: includes: a → b → c → a is a cycle [cycle_detected]`,
				`b: skill.yaml:1:11: error: includes: b → c → a → b is a cycle [cycle_detected]`,
				`c: skill.yaml:1:11: error: includes: c → a → b → c is a cycle [cycle_detected]`,
				`d: skill.yaml:1:11: error: includes: skill "b" is blocked: includes: b → c → a → b is a cycle [resolution_failure]`,
			},
		},
		"two circles through one": {
			[]string{"a", "includes: [b, c]\n", "b", "includes: [a]\n", "c", "includes: [b]\n"},
			[]string{
				`a: skill.yaml:1:11: error: includes: a → b → a is a cycle [cycle_detected]`,
				`b: skill.yaml:1:11: error: includes: b → a → b is a cycle [cycle_detected]`,
				`c: skill.yaml:1:11: error: includes: c → b → a → c is a cycle [cycle_detected]`,
			},
		},
		"a diamond is none": {
			[]string{"a", "includes: [b, c]\n", "b", "includes: [d]\n", "c", "includes: [d]\n", "d", ""},
			nil,
		},
		"include that nobody can use": {
			[]string{"a", "includes: [b]\n", "b", "status: Archived\n"},
			[]string{`a: skill.yaml:1:11: error: includes: skill "b" is Archived, which nobody can use [resolution_failure]`},
		},
		"missing tools": {
			[]string{"a", "tools:\n- reader\n- frobnicate\n- skill:nobody\n- {name: other}\ntoolkits: [web]\n"},
			[]string{
				`a: skill.yaml:3:3: error: tools[1]: this host has no tool "frobnicate" [TOOL_MISSING]`,
				`a: skill.yaml:4:3: error: tools[2]: there is no skill "nobody" [TOOL_MISSING]`,
				`a: skill.yaml:5:3: error: tools[3]: this host has no tool "other" [TOOL_MISSING]`,
				`a: skill.yaml:6:12: error: toolkits[0]: this host has no toolkit "web" [TOOLKIT_MISSING]`,
			},
		},
		"blocked through two skills": {
			[]string{"a", "tools: [skill:b]\n", "b", "includes: [c]\n", "c", "tools: [nothing]\n"},
			[]string{
				`a: skill.yaml:1:9: error: tools[0]: skill "b" is blocked: includes: this host has no tool "nothing" (a tool of the included skill "c") [TOOL_MISSING]`,
				`b: skill.yaml:1:11: error: includes: this host has no tool "nothing" (a tool of the included skill "c") [TOOL_MISSING]`,
				`c: skill.yaml:1:9: error: tools[0]: this host has no tool "nothing" [TOOL_MISSING]`,
			},
		},
		"skills that call each other are no cycle of includes": {
			[]string{"a", "tools: [skill:b]\n", "b", "tools: [skill:a]\n"},
			nil,
		},
		"a reader with a tool that writes": {
			[]string{"a", "tools: [writer]\n", "b", "writes: false\ntoolkits: [mcp:files]\n", "c", "includes: [d]\n", "d", "tools: [writer]\nwrites: true\n", "e", "tools: [skill:d]\n"},
			[]string{
				`a: skill.yaml:1:9: error: tools[0]: "writer" writes, and this skill is read-only: set writes: true, or do without it [READ_ONLY_WRITES]`,
				`b: skill.yaml:2:12: error: toolkits[0]: "mcp:files/write" writes, and this skill is read-only: set writes: true, or do without it [READ_ONLY_WRITES]`,
				`c: skill.yaml:1:11: error: includes: "writer" writes (a tool of the included skill "d"), and this skill is read-only: set writes: true, or do without it [READ_ONLY_WRITES]`,
				`e: skill.yaml:1:9: error: tools[0]: "skill:d" writes, and this skill is read-only: set writes: true, or do without it [READ_ONLY_WRITES]`,
			},
		},
		"what is no name": {
			[]string{"a", "tools: [1, [x], {note: y}, 'a b', '']\ntoolkits: x\n"},
			[]string{
				`a: skill.yaml:1:9: error: tools[0]: expected a name, got a number [WRONG_TYPE]`,
				`a: skill.yaml:1:12: error: tools[1]: expected a name, got a list [WRONG_TYPE]`,
				`a: skill.yaml:1:17: error: tools[2]: expected a name, or a mapping with the key tool or name [WRONG_TYPE]`,
				`a: skill.yaml:1:28: error: tools[3]: "a b" is no name of a tool; expected one such as calculator, skill:NAME or mcp:SERVER/TOOL [INVALID_VALUE]`,
				`a: skill.yaml:1:35: error: tools[4]: "" is no name of a tool; expected one such as calculator, skill:NAME or mcp:SERVER/TOOL [INVALID_VALUE]`,
				`a: skill.yaml:2:11: error: toolkits: expected a list, got a string [WRONG_TYPE]`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := company(t, &testBox{}, tt.skills...)
			var got []string
			for _, s := range l.List() {
				if blocked := len(s.Findings) > 0; blocked != (s.Status == Blocked) {
					t.Errorf("%s is %s with %q", s.Name, s.Status, texts(s.Findings))
				}
				for i, f := range s.Findings {
					got = append(got, s.Name+": "+f.String())
					if i == 0 && f.Code != CodeWrongType && s.BlockedWhy != f.Message {
						t.Errorf("%s is blocked because %q", s.Name, s.BlockedWhy)
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheBoxIsAskedAgainWhenItHasChanged(t *testing.T) {
	box := &testBox{open: true}
	l := company(t, box, "a", "toolkits: [mcp:files]\ntools: [mcp:files/read]\n")
	if s := found(t, l, "a"); s.Status != Published || len(s.Resolved) != 0 {
		t.Fatalf("as long as nobody knows: %s %v", s.Status, s.Resolved)
	}
	box.open = false
	if err := l.Refresh(); err != nil {
		t.Fatal(err)
	}
	if s := found(t, l, "a"); s.Status != Published {
		t.Errorf("nothing said that the box has changed, and yet: %s", s.BlockedWhy)
	}
	box.version++
	if err := l.Refresh(); err != nil {
		t.Fatal(err)
	}
	s := found(t, l, "a")
	mustContain(t, s.BlockedWhy, `"mcp:files/write" writes`)
}

func TestManySkillsInALongChain(t *testing.T) {
	var pairs []string
	const n = 500
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("s%d", i), fmt.Sprintf("includes: [s%d]\n", (i+1)%n))
	}
	l := company(t, NoTools, pairs...)
	s := found(t, l, "s0")
	if s.Status != Blocked || len(s.BlockedWhy) > 200 || !strings.Contains(s.BlockedWhy, "s0 → ... → s0") {
		t.Errorf("%s: %s", s.Status, s.BlockedWhy)
	}
}

func TestManyFindingsAreBounded(t *testing.T) {
	var list []string
	for i := range maxEntries {
		list = append(list, fmt.Sprintf("x%d", i))
	}
	l := company(t, NoTools, "a", "tools: ["+strings.Join(list, ", ")+"]\n")
	if n := len(found(t, l, "a").Findings); n != maxFindings+1 {
		t.Errorf("%d findings", n)
	}
}

// What many ways lead to is taken once: the ways themselves double with every layer.
func TestIncludesInLayers(t *testing.T) {
	const layers = 40
	var pairs []string
	for i := range layers {
		for _, side := range []string{"a", "b"} {
			yaml := "tools: [reader]\n"
			if i+1 < layers {
				yaml += fmt.Sprintf("includes: [a%d, b%d]\n", i+1, i+1)
			}
			pairs = append(pairs, fmt.Sprintf("%s%d", side, i), yaml)
		}
	}
	sk := found(t, company(t, &testBox{}, pairs...), "a0")
	if sk.Status != Published || len(sk.ToolNames) != 1 || len(sk.Resolved) != 1 {
		t.Errorf("%s (%s) with %v", sk.Status, sk.BlockedWhy, sk.ToolNames)
	}
}

// A skill that is included on a great many ways counts once, and what comes together has a bound.
func TestIncludesOnManyWays(t *testing.T) {
	const rows = 60
	var pairs []string
	for i := range rows {
		text := "tools: [reader]\n"
		if i < rows-1 {
			text = fmt.Sprintf("includes: [row-%[1]d-a, row-%[1]d-b]\n", i+1)
		}
		pairs = append(pairs, fmt.Sprintf("row-%d-a", i), text, fmt.Sprintf("row-%d-b", i), text)
	}
	top := found(t, company(t, &testBox{}, pairs...), "row-0-a")
	if diff := cmp.Diff([]string{"reader"}, top.ToolNames); diff != "" || top.Status != Published {
		t.Errorf("%s %s: %s", top.Status, top.BlockedWhy, diff)
	}
	pairs = nil
	for i := range 6 {
		var names []string
		for j := range 200 {
			names = append(names, fmt.Sprintf("skill:s-%d-%d", i, j))
		}
		pairs = append(pairs, fmt.Sprintf("wide-%d", i), fmt.Sprintf("tools: [%s]\nincludes: [wide-%d]\n", strings.Join(names, ", "), i+1))
	}
	l := company(t, &testBox{}, append(pairs, "wide-6", "")...)
	if s := found(t, l, "wide-0"); s.Status != Blocked || !strings.Contains(s.BlockedWhy, "1200 tools and toolkits come together with those of \"wide-1\"; the most is 1024") {
		t.Errorf("%s: %s", s.Status, s.BlockedWhy)
	}
}
