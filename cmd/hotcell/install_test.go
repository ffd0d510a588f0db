package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/catalog"
)

func writeZip(t *testing.T, name string, files map[string]string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := zip.NewWriter(f)
	for name, text := range files {
		out, err := w.Create(name)
		if err == nil {
			_, err = out.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A skill is installed, shown, taken back to what it was and removed again.
func TestInstallCommands(t *testing.T) {
	b := own(newBench(t, nil))
	writeFile(t, "src/greet/SKILL.md", "---\nname: greet\ndescription: First.\n---\nHello.\n")
	writeFile(t, "src/greet/main.py", "print(1)\n")
	writeFile(t, "src/greet/.git/config", "x")
	writeZip(t, "greet.zip", map[string]string{"greet/SKILL.md": "---\nname: greet\ndescription: Second.\nhooks: x\n---\nHello.\n", "greet/main.py": "print(2)\n"})
	steps := []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{"install", "src/greet"}, 0, "greet v1 is installed: 2 files, ", ""},
		{[]string{"install", "greet.zip", "--name", "greet"}, 0, "greet v2 is installed: 2 files, ", "hotcell: warning: SKILL.md:4:1: Unknown frontmatter field 'hooks'. [UNKNOWN_TOP_LEVEL_KEY]\n"},
		{[]string{"list"}, 0, "Second.", ""},
		{[]string{"versions", "greet"}, 0, "v2       *  ", ""},
		{[]string{"rollback", "greet", "v1"}, 0, "greet is v1 again: sha256:", ""},
		{[]string{"show", "greet"}, 0, "First.", ""},
		{[]string{"rollback", "greet", "v7"}, exitUsage, "", "Skill 'greet' has no version \"v7\". 'hotcell skills versions' shows those that are kept.\n"},
		{[]string{"uninstall", "greet"}, 0, "greet is removed.\n", ""},
		{[]string{"uninstall", "greet"}, exitUsage, "", "hotcell: Skill 'greet' not found. It is not one that was installed"},
		{[]string{"versions", "../greet"}, exitUsage, "", "hotcell: Skill '../greet' not found."},
		{[]string{"list", "--json"}, 0, "[]", ""},
	}
	for _, tt := range steps {
		b.out.Reset()
		b.err.Reset()
		args := append([]string{"skills"}, tt.args...)
		if code := b.run(append(args, "--data-dir", "data")...); code != tt.code {
			t.Errorf("%q: exit %d, %s", tt.args, code, b.err.String())
		}
		if !strings.Contains(b.out.String(), tt.out) || !strings.Contains(b.err.String(), tt.err) {
			t.Errorf("%q: %q, %q, want %q, %q", tt.args, b.out.String(), b.err.String(), tt.out, tt.err)
		}
	}
}

// An archive may come through a pipe, as from `<(curl ...)`.
func TestInstallFromAPipe(t *testing.T) {
	b := own(newBench(t, nil))
	writeZip(t, "greet.zip", map[string]string{"SKILL.md": "---\nname: greet\ndescription: Greets.\n---\nHello.\n"})
	raw, err := os.ReadFile("greet.zip")
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.Write(raw); err != nil { // it is less than a pipe holds
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b.app.stdin = bytes.NewReader(raw)
	for _, from := range []string{fmt.Sprintf("/dev/fd/%d", r.Fd()), "-"} {
		b.out.Reset()
		code := b.run("skills", "install", from, "--data-dir", "data")
		if code != exitOK || !strings.Contains(b.out.String(), "greet v1 is installed: 1 file, ") {
			t.Errorf("%s: exit %d: %s%s", from, code, b.out.String(), b.err.String())
		}
	}
}

// What can't be installed is told with its place, and what will not be used as one would think is warned of.
func TestInstallProblems(t *testing.T) {
	b := own(newBench(t, nil))
	writeFile(t, "skills/greet/SKILL.md", "---\nname: greet\ndescription: The project's.\n---\n")
	writeFile(t, "src/greet/SKILL.md", "---\nname: greet\ndescription: Ours.\n---\n")
	writeFile(t, "src/tooled/SKILL.md", "---\nname: tooled\ndescription: x\n---\n")
	writeFile(t, "src/tooled/skill.yaml", "tools: [gone]\n")
	writeFile(t, "src/bad/SKILL.md", "---\nname: bad\n---\n")
	writeFile(t, "src/empty/README.md", "x")
	writeFile(t, "notes.txt", "x")
	writeZip(t, "evil.zip", map[string]string{"SKILL.md": "---\nname: greet\ndescription: x\n---\n", "../../x": "x"})
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"no.zip"}, exitUsage, "hotcell: no.zip: no such file or directory\n"},
		{[]string{"notes.txt"}, exitUsage, "hotcell: notes.txt: expected a zip or tar.gz archive, or the folder of a skill\n"},
		{[]string{"evil.zip"}, exitFailed, `hotcell: evil.zip: "../../x": a name that leads out of its folder (..) [ARCHIVE_PATH]`},
		{[]string{"src/bad"}, exitFailed, "hotcell: src/bad: SKILL.md:2:1: Field 'description' is required. [DESCRIPTION_REQUIRED]\n"},
		{[]string{"src/empty"}, exitFailed, "no SKILL.md at the archive's root"},
		{[]string{"src/greet", "--name", "other"}, exitFailed, "must equal the parent directory name ('other'). [NAME_DIR_MISMATCH]\n"},
		{[]string{"src/greet", "--name", "No"}, exitUsage, `--name "No" can't be a skill's name`},
		{[]string{"src/greet"}, exitOK, "hotcell: warning: skills/greet is used instead: the source \"project\" comes first\n"},
		{[]string{"src/tooled"}, exitOK, "hotcell: warning: nobody can call it: it is Blocked: "},
	} {
		b.err.Reset()
		if code := b.run(append([]string{"skills", "install", "--data-dir", "data"}, tt.args...)...); code != tt.code || !strings.Contains(b.err.String(), tt.want) {
			t.Errorf("%q: exit %d, %q, want %q", tt.args, code, b.err.String(), tt.want)
		}
	}
	b.out.Reset()
	var list []catalog.Installed
	if code := b.run("skills", "versions", "greet", "--json", "--data-dir", "data"); code != 0 || json.Unmarshal(b.out.Bytes(), &list) != nil || len(list) != 1 || !list[0].Current {
		t.Errorf("exit %d, %s", code, b.out.String())
	}
	if _, err := os.Stat(filepath.Join("data", "installed", "bad")); err == nil {
		t.Error("a bad skill is installed")
	}
}
