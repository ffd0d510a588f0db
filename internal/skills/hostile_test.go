package skills

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hostileTexts are SKILL.md that somebody wrote badly or in bad faith.
func hostileTexts() []string {
	front := func(yaml string) string { return "---\n" + yaml + "\n---\nBody.\n" }
	return []string{
		"", "---", "---\n---", "---\n\n---\n", "\x00\x01\x02", "\xff\xfe\x00", strings.Repeat("-", 4096), strings.Repeat("---\n", 5000),
		front("name: *x\nother: &x [*x]"), front("a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]"), front("<<: {name: x}"), front("name: !!python/object x"),
		front("name: {{name}}"), front(strings.Repeat("a: {", 500)), front(strings.Repeat("- ", 3000)), front(strings.Repeat("[", 10000)),
		front("? [complex]\n: key"), front("name: x\nname: y"), front("name: \"\\ud800\""), front("name: \u202ex\ndescription: \x1b[31mred"),
		front("description: |\n" + strings.Repeat("  line\n", 20000)), front("name: x\ndescription: " + strings.Repeat("語", 100_000)),
		front("metadata:\n  openclaw:\n    requires: {bins: [gh]}\n    install: [{id: brew}]"), front("allowed-tools:\n  - Bash(git:*)\n  - Read"),
		front("description: Use when: a: b: c\nname: x"), front("'name': x\n\"description\": y"), front("name: ~\ndescription: null\nlicense: .inf\ncompatibility: .nan"),
		front("name: 2026-01-01\ndescription: 0x1F\nmetadata: {1: 2, true: no, ~: x}"), front("%YAML 1.1"), "\uFEFF\uFEFF---\nname: x\n---\n",
		front("name: x\ndescription: y\n...\n---\nname: z"), front("\tname: x"), front("name:x\ndescription:y"), front("- name: x"),
		strings.ReplaceAll(front("name: x\ndescription: y"), "\n", "\r"), "---\r\nname: x\r\ndescription: y\r\n---\r\n" + strings.Repeat("\r\n", 2000),
	}
}

// hostileFolder makes hundreds of bundles that nobody would want.
func hostileFolder(t *testing.T) (dir string, bundles int) {
	t.Helper()
	dir = t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	list := hostileTexts()
	for i := range 300 {
		text := list[i%len(list)]
		if i >= len(list) { // the same, damaged
			b := []byte(text)
			for range 1 + random.IntN(8) {
				if len(b) > 0 {
					b[random.IntN(min(len(b), 400))] = byte(random.UintN(256))
				}
			}
			text = string(b)
		}
		folder := filepath.Join(dir, fmt.Sprintf("skill-%03d", i))
		write(t, folder+"/SKILL.md", text)
		if i%3 == 0 {
			write(t, folder+"/skill.yaml", list[random.IntN(len(list))])
		}
	}
	for link, target := range map[string]string{"loop": ".", "outside": "/etc", "dangling": "nowhere", "skill-000/up": "..", "skill-001/SKILL.md/x": "x"} {
		_ = os.Symlink(target, filepath.Join(dir, link)) // the last one can't be
	}
	write(t, dir+"/linked/notes.md", "x")
	if err := os.Symlink("/etc/hostname", dir+"/linked/SKILL.md"); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/folder/SKILL.md/x", "x")
	write(t, dir+"/Ünï cödé 技能/SKILL.md", "---\nname: 技能\ndescription: x\n---\n")
	write(t, dir+"/esc\x1b[31m\n/SKILL.md", "---\nname: x\n---\n")
	if err := os.MkdirAll(dir+"/piped", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dir+"/piped/SKILL.md", 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, 302
}

// Whatever lies in a folder, lint and library survive it, say where each fault is, and let nothing out of the bundle.
func TestHostileFolders(t *testing.T) {
	dir, bundles := hostileFolder(t)
	for _, profile := range []Profile{Lenient, Strict} {
		found, n := Lint(os.DirFS(filepath.Dir(dir)), filepath.Base(dir), LintOptions{Profile: profile})
		if n != bundles {
			t.Errorf("%d bundles, want %d", n, bundles)
		}
		for _, f := range found {
			if strings.ContainsAny(f.String(), "\x00\x1b\n\r") {
				t.Errorf("control characters in %q", f.String())
			}
			if f.Line == 0 && strings.HasSuffix(f.File, "/SKILL.md") && f.Code != CodeUnreadable && f.Code != CodeTooLarge {
				t.Errorf("no line: %s", f)
			}
		}
	}
	l := mustLoad(t, Dir(SourceProject, dir))
	list := l.List()
	if len(list) != bundles {
		t.Errorf("%d skills listed, want %d", len(list), bundles)
	}
	for _, s := range list {
		if err := fs.WalkDir(s.Bundle.FS, ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type()&fs.ModeSymlink != 0 {
				t.Errorf("%s has the link %s", s.Name, name)
			}
			return err
		}); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}
