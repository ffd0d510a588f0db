package main

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestSafeName(t *testing.T) {
	for in, want := range map[string]string{
		"report.md":              "report.md",
		"a/b.txt":                "a/b.txt",
		"../../etc/passwd":       "etc/passwd",
		"/etc/passwd":            "etc/passwd",
		`..\..\win.ini`:          "win.ini",
		"a/../../b":              "a/b",
		".bashrc":                "_bashrc",
		"-rf":                    "_rf",
		"a\x00b\x1b[31m\n":       "a_b__31m_",
		"x\u202egpj.exe":         "x_gpj.exe",
		"":                       "artifact",
		"..":                     "artifact",
		"///":                    "artifact",
		"...":                    "artifact",
		"a. . /b":                "a/b",
		"日本.csv":                 "日本.csv",
		"bad\xff":                "bad_",
		"$(reboot);`id`":         "__reboot___id_",
		"1/2/3/4/5/6/7/8/9/10":   "1/2/3/4/5/6/7/8",
		strings.Repeat("ü", 300): strings.Repeat("ü", 60),
	} {
		if got := safeName(in); got != want {
			t.Errorf("safeName(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzSafeName(f *testing.F) {
	f.Add("../../etc/passwd")
	f.Add(`C:\x`)
	f.Add("\u202e/./..")
	f.Fuzz(func(t *testing.T, in string) {
		got := safeName(in)
		if !filepath.IsLocal(got) || !fs.ValidPath(got) || got == "." {
			t.Fatalf("safeName(%q) = %q leads elsewhere", in, got)
		}
		for _, r := range got {
			if !unicode.IsGraphic(r) {
				t.Fatalf("safeName(%q) = %q", in, got)
			}
		}
		for elem := range strings.SplitSeq(got, "/") {
			if len(elem) > maxName || strings.HasPrefix(elem, ".") || strings.HasPrefix(elem, "-") {
				t.Fatalf("safeName(%q) = %q", in, got)
			}
		}
	})
}

func chunk(name, text string, final bool) map[string]any {
	return map[string]any{"name": name, "mime": "text/plain", "chunk": base64.StdEncoding.EncodeToString([]byte(text)), "final": final}
}

func TestArtifactsAreSaved(t *testing.T) {
	t.Chdir(t.TempDir())
	outside := filepath.Join(t.TempDir(), "outside")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(outside, "precious")
	if err := os.Mkdir("out", 0o755); err != nil {
		t.Fatal(err)
	}
	write("out/there.txt", "old")
	write("beside", "precious")
	if err := os.Symlink(outside, "out/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", "out/up"); err != nil {
		t.Fatal(err)
	}
	a, err := newArtifacts("out", false)
	if err != nil {
		t.Fatal(err)
	}
	a.add(chunk("r.md", "one ", false))
	a.add(chunk("r.md", "two", true))
	a.add(chunk("r.md", "late", true))      // after its end
	a.add(chunk("./r.md", "forged", true))  // the same name once it is safe
	a.add(chunk("there.txt", "new", true))  // never over what is there
	a.add(chunk("link", "through", true))   // never through a link
	a.add(chunk("up/beside", "away", true)) // nor through a folder's
	a.add(chunk("part", "half", false))     // its end never comes
	a.add(map[string]any{"name": "b64", "chunk": "%%%", "final": true})
	a.add(chunk("sub/deep.txt", "deep", true))
	if err := a.close(); err == nil || !strings.Contains(err.Error(), "is not saved") {
		t.Errorf("close = %v, want the first that was not saved", err)
	}
	want := map[string]string{"r.md": "one two", "there.txt": "old", "sub/deep.txt": "deep"}
	got := map[string]string{}
	if err := filepath.WalkDir("out", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, _ := os.ReadFile(p)
			rel, _ := filepath.Rel("out", p)
			got[rel] = string(data)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("saved (-want +got):\n%s", diff)
	}
	for _, p := range []string{outside, "beside"} {
		if data, _ := os.ReadFile(p); string(data) != "precious" {
			t.Errorf("%s = %q: it was overwritten", p, data)
		}
	}
}

func TestArtifactsByForce(t *testing.T) {
	t.Chdir(t.TempDir())
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("r.md", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, "link"); err != nil {
		t.Fatal(err)
	}
	a, err := newArtifacts(".", true)
	if err != nil {
		t.Fatal(err)
	}
	a.add(chunk("r.md", "new", true))
	a.add(chunk("link", "a file now", true))
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]string{"r.md": "new", "link": "a file now", outside: "precious"} {
		if data, _ := os.ReadFile(p); string(data) != want {
			t.Errorf("%s = %q, want %q", p, data, want)
		}
	}
}

func TestArtifactsAreBounded(t *testing.T) {
	a, err := newArtifacts("", false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxArtifacts + 5 {
		a.add(chunk(strings.Repeat("x", i+1), "1", true))
	}
	if len(a.order) != maxArtifacts || a.dropped != 5 {
		t.Errorf("kept %d and dropped %d, want %d and 5", len(a.order), a.dropped, maxArtifacts)
	}
}
