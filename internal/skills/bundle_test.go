package skills

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// openDir reads the bundle in a directory.
func openDir(t *testing.T, dir string) (Bundle, []string) {
	t.Helper()
	r := &report{}
	b := openBundle(rootFS(dir), 0, r)
	return b, texts(r.findings)
}

func names(t *testing.T, fsys fs.FS) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBundleHoldsPlainFilesOnly(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/SKILL.md", goodSkillMD)
	write(t, dir+"/scripts/main.py", "print(1)")
	write(t, dir+"/.git/config", "secret")
	write(t, dir+"/.env", "secret")
	write(t, dir+"/data/.hidden", "secret")
	for link, target := range map[string]string{"passwd": "/etc/passwd", "etc": "/etc", "inside": "SKILL.md", "gone": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	b, findings := openDir(t, dir)
	if diff := cmp.Diff([]string{"SKILL.md", "scripts/main.py"}, names(t, b.FS)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if len(findings) > 0 || b.Files != 2 || b.Bytes != int64(len(goodSkillMD)+8) {
		t.Errorf("findings %q, %d files, %d bytes", findings, b.Files, b.Bytes)
	}
	if err := fstest.TestFS(b.FS, "SKILL.md", "scripts/main.py"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{".env", "passwd", "etc/passwd", "inside", "../x", "/etc/passwd", "data"} {
		if _, err := b.FS.Open(name); err == nil {
			t.Errorf("%s can be opened", name)
		}
	}
}

func TestBundleRefusesIrregularFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/SKILL.md", goodSkillMD)
	write(t, dir+"/back\\slash", "x")
	write(t, dir+"/esc\x1b[31m", "x")
	if err := syscall.Mkfifo(dir+"/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	_, findings := openDir(t, dir)
	want := []string{
		`back\slash: error: this file name cannot be used: expected at most 512 bytes of printable UTF-8 without a backslash [BUNDLE_FILE]`,
		`esc [31m: error: this file name cannot be used: expected at most 512 bytes of printable UTF-8 without a backslash [BUNDLE_FILE]`,
		`pipe: error: not a regular file (p---------); remove it [BUNDLE_FILE]`,
	}
	if diff := cmp.Diff(want, findings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBundleBounds(t *testing.T) {
	many := mapFS("SKILL.md", goodSkillMD)
	for i := range maxFiles {
		many[fmt.Sprintf("f/%04d", i)] = &fstest.MapFile{}
	}
	deep := mapFS("SKILL.md", goodSkillMD, "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q", "")
	large := mapFS("SKILL.md", goodSkillMD)
	part := make([]byte, maxBundleBytes/4)
	for i := range 4 {
		large[fmt.Sprintf("part%d", i)] = &fstest.MapFile{Data: part}
	}
	for name, tt := range map[string]struct {
		fsys fs.FS
		want string
	}{
		"files": {many, ".: error: more than 2000 files; bring packages in an image instead [BUNDLE_TOO_LARGE]"},
		"depth": {deep, "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q: error: more than 16 levels of folders [BUNDLE_TOO_LARGE]"},
		"bytes": {large, "part3: error: the bundle has more than 64 MiB; bring data in an image instead [BUNDLE_TOO_LARGE]"},
	} {
		t.Run(name, func(t *testing.T) {
			sk := load(tt.fsys, "hello", reading{}).skill
			if len(sk.Findings) == 0 || sk.Bundle.Digest != "" || sk.Status != Blocked || sk.Name != "hello" || sk.Description == "" {
				t.Fatalf("got %+v", sk)
			}
			mustContain(t, fmt.Sprint(texts(sk.Findings)), tt.want)
		})
	}
}

func TestDigest(t *testing.T) {
	make := func(change func(fstest.MapFS)) string {
		m := mapFS("SKILL.md", goodSkillMD, "scripts/main.py", "print(1)", "a/b", "c")
		if change != nil {
			change(m)
		}
		return openBundle(m, 0, &report{}).Digest
	}
	base := make(nil)
	if len(base) != 64 {
		t.Fatalf("digest %q", base)
	}
	for name, change := range map[string]func(fstest.MapFS){
		"times":             func(m fstest.MapFS) { m["a/b"].ModTime = m["a/b"].ModTime.AddDate(1, 0, 0) },
		"other permissions": func(m fstest.MapFS) { m["a/b"].Mode = 0o600 },
		"dot files":         func(m fstest.MapFS) { m[".git/x"] = &fstest.MapFile{Data: []byte("x")} },
		"empty folder":      func(m fstest.MapFS) { m["empty"] = &fstest.MapFile{Mode: fs.ModeDir | 0o755} },
	} {
		if make(change) != base {
			t.Errorf("%s change the digest", name)
		}
	}
	seen := map[string]string{base: "nothing"}
	for name, change := range map[string]func(fstest.MapFS){
		"content":    func(m fstest.MapFS) { m["a/b"].Data = []byte("d") },
		"executable": func(m fstest.MapFS) { m["a/b"].Mode = 0o700 },
		"name":       func(m fstest.MapFS) { m["a/c"] = m["a/b"]; delete(m, "a/b") },
		"split":      func(m fstest.MapFS) { m["a"] = &fstest.MapFile{Data: []byte("bc")}; delete(m, "a/b") },
		"one more":   func(m fstest.MapFS) { m["z"] = &fstest.MapFile{} },
	} {
		d := make(change)
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[d] = name
	}
}

func TestViewRefusesWhatHasChanged(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/SKILL.md", goodSkillMD)
	write(t, dir+"/same", "abc")
	write(t, dir+"/link", "abc")
	b, _ := openDir(t, dir)
	write(t, dir+"/same", "abd")
	write(t, dir+"/SKILL.md", goodSkillMD+"more")
	if err := os.Remove(dir + "/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"same", "SKILL.md", "link"} {
		if _, err := fs.ReadFile(b.FS, name); !errors.Is(err, errChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	write(t, dir+"/same", "abc")
	if got, err := fs.ReadFile(b.FS, "same"); err != nil || string(got) != "abc" {
		t.Errorf("restored file: %q, %v", got, err)
	}
}

func TestViewModes(t *testing.T) {
	m := mapFS("SKILL.md", goodSkillMD, "run.sh", "x")
	m["run.sh"].Mode = 0o711
	b := openBundle(m, 0, &report{})
	for name, want := range map[string]fs.FileMode{"SKILL.md": 0o644, "run.sh": 0o755, ".": fs.ModeDir | 0o755} {
		info, err := fs.Stat(b.FS, name)
		if err != nil || info.Mode() != want || !info.ModTime().IsZero() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// No name leads out of a bundle.
func TestBundlePaths(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/secret", "x")
	write(t, dir+"/one/SKILL.md", goodSkillMD)
	write(t, dir+"/one/references/a.md", "x")
	for _, keep := range []int64{0, 1 << 20} {
		b := openBundle(rootFS(dir+"/one"), keep, &report{})
		for _, name := range []string{"../secret", "references/../../secret", "/SKILL.md", "./SKILL.md", "SKILL.md\x00", "references\\a.md", "", "..", "SKILL.md/", "references//a.md"} {
			if _, err := fs.ReadFile(b.FS, name); err == nil {
				t.Errorf("%q can be read", name)
			}
		}
		if got, err := fs.ReadFile(b.FS, "references/a.md"); err != nil || string(got) != "x" {
			t.Errorf("%q, %v", got, err)
		}
	}
}
