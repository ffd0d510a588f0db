package skills

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

const goodSkillMD = "---\nname: hello\ndescription: Says hello. Use when greeting.\n---\n\n# Hello\n\nSay hello.\n"

// mapFS makes a bundle of name, content pairs.
func mapFS(pairs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1]), Mode: 0o644}
	}
	return m
}

// hello is a bundle named hello with a script, and with a skill.yaml if yaml is not "".
func hello(yaml string) fs.FS {
	m := mapFS("SKILL.md", goodSkillMD, "scripts/main.py", "print('hello')\n")
	if yaml != "" {
		m["skill.yaml"] = &fstest.MapFile{Data: []byte(yaml), Mode: 0o644}
	}
	return m
}

// texts renders findings, one a string.
func texts(fs []Finding) []string {
	out := []string{}
	for _, f := range fs {
		out = append(out, f.String())
	}
	return out
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// bundleDir writes a minimal skill into dir/name.
func bundleDir(t *testing.T, dir, name, description string) {
	t.Helper()
	write(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: "+description+"\n---\nBody.\n")
	write(t, filepath.Join(dir, name, "scripts/main.py"), "print(1)\n")
}

func mustContain(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %q, which does not contain %q", got, want)
	}
}
