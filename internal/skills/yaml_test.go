package skills

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseYAMLValues(t *testing.T) {
	n, err := parseYAML("s: text\nq: \"1\"\ni: 12\nh: 0x1F\nf: 1.50\nb: true\nz: ~\nl: [1, {a: b}]\nd: 2024-01-31\nt: |\n  x\n  y\n")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"s":"text","q":"1","i":12,"h":31,"f":1.5,"b":true,"z":null,"l":[1,{"a":"b"}],"d":"2024-01-31","t":"x\ny\n"}`
	if diff := cmp.Diff(want, string(n.appendJSON(nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f := n.get("f"); f.text != "1.50" || f.line != 5 || f.column != 4 {
		t.Errorf("f is %q at %d:%d", f.text, f.line, f.column)
	}
}

func TestParseYAMLRefuses(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+p+",", 8) + "*" + p + "]\n"
	}
	const many = 80_000
	for name, tt := range map[string]struct{ text, want string }{
		"bomb":        {bomb, "anchors, aliases"},
		"alias":       {"a: *b\n", "anchors, aliases"},
		"merge":       {"a: {<<: {b: c}}\n", "anchors, aliases"},
		"tag":         {"a: !!python/object x\n", "tags (!)"},
		"complex key": {"? [a]\n: b\n", "complex keys"},
		"documents":   {"a: b\n---\nc: d\n", "second YAML document"},
		"infinity":    {"a: .inf\n", "not a number"},
		"nan":         {"a: .nan\n", "not a number"},
		"flow":        {strings.Repeat("[", 1000), "nested too deep"},
		"flow maps":   {strings.Repeat("{a: ", 1000), "nested too deep"},
		"dashes":      {strings.Repeat("- ", many/2), "nested too deep"},
		"colons":      {strings.Repeat("a: ", 1000), "nested too deep"},
		"tags":        {"a: " + strings.Repeat("!x ", many/3), "tags (!)"},
		"tokens":      {strings.Repeat("a\n", 10) + "b: [" + strings.Repeat("1,", many) + "]", "too much YAML"},
		"steps":       {steps(300), "nested deeper"},
		"size":        {strings.Repeat("#", maxYAML+1), "too many"},
		"utf-8":       {"a: \xff\n", "not UTF-8"},
		"nul":         {"a: \x00\n", "not UTF-8"},
		"twice":       {"a: 1\na: 2\n", "already defined"},
		"unclosed":    {"a: [b\n", ""},
		"tab":         {"a:\n\tb: c\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			n, err := parseYAML(tt.text)
			if err == nil {
				t.Fatalf("got %s", n.appendJSON(nil))
			}
			mustContain(t, err.message, tt.want)
			if len(err.message) > 300 || strings.ContainsAny(err.message, "\n\x1b") {
				t.Errorf("message %q", err.message)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// steps nests block mappings by indentation.
func steps(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func FuzzSidecar(f *testing.F) {
	f.Add(fullSidecar)
	f.Add("limits: {memory: 1Gi}\nnetwork: {allow: [a:1]}\nrun: {script: x.py}\n")
	f.Add("? a\n: - b\n- - c: |\n  x\n 'y': \"\\u0000\"\n")
	f.Add("input_schema: {$ref: '#/x', type: [object], properties: {a: {pattern: '('}}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		sk := load(hello(text), "hello", reading{}).skill
		checkSkill(t, sk)
	})
}

func FuzzSkillMD(f *testing.F) {
	f.Add(goodSkillMD)
	f.Add("\uFEFF---\r\nname: x\r\nmetadata: {a: 1.0, b: [c]}\r\nallowed-tools: a, b\r\n---")
	f.Add("---\n---\n---\n")
	for _, text := range hostileTexts() {
		if len(text) < 1<<12 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		strict := load(mapFS("SKILL.md", text, "main.sh", "echo"), "hello", reading{profile: Strict}).skill
		lenient := load(mapFS("SKILL.md", text, "main.sh", "echo"), "hello", reading{}).skill
		for _, sk := range []*Skill{strict, lenient} {
			checkSkill(t, sk)
			if sk.Name != "hello" {
				t.Errorf("a folder named hello became the skill %q", sk.Name)
			}
			for _, name := range sk.RequiredTools {
				if len(sk.RequiredTools) > maxRequired || !toolName.MatchString(name) {
					t.Errorf("required tools %q", sk.RequiredTools)
				}
			}
		}
		if strict.Status == Published && (lenient.Status != Published || !slices.Equal(strict.Findings, lenient.Findings)) {
			t.Errorf("strict has %q, lenient %s %q", texts(strict.Findings), lenient.Status, texts(lenient.Findings))
		}
		for _, fd := range lenient.Findings {
			if fd.Documented() == SeverityWarning && fd.Softened {
				t.Errorf("softened, and documented as a warning: %s", fd)
			}
		}
	})
}

// checkSkill states what holds for every skill, however broken its bundle is.
func checkSkill(t *testing.T, sk *Skill) {
	t.Helper()
	if (sk.Status == Blocked) != (sk.BlockedWhy != "") {
		t.Errorf("status %s because %q", sk.Status, sk.BlockedWhy)
	}
	if len(sk.Findings) > maxFindings+1 {
		t.Errorf("%d findings", len(sk.Findings))
	}
	for _, fd := range sk.Findings {
		if fd.Code == "" || fd.Message == "" || fd.File == "" || fd.Line < 0 || fd.Column < 0 {
			t.Errorf("incomplete finding %+v", fd)
		}
		if strings.ContainsAny(fd.String(), "\n\r\x1b\x00") {
			t.Errorf("finding with control characters: %q", fd.String())
		}
	}
	if sk.Status == Published && len(sk.Run.Command) == 0 && !sk.Run.Frames {
		t.Errorf("published without a command")
	}
	sk.Definition()
}
