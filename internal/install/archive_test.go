package install

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// What is uploaded, in whatever kind and form, is there as the library of skills wants it.
func TestUploads(t *testing.T) {
	files := bundle("greet", "Says hello.",
		file{name: "references/nested.zip", text: "PK\x03\x04 whatever"}, file{name: "references/a/b/c.md", text: "c"},
		file{name: ".git/config", text: "x"}, file{name: "docs/.DS_Store", text: "x"}, file{name: "bits.sh", mode: fs.ModeSetuid | 0o4777})
	want := map[string]fs.FileMode{
		"SKILL.md": 0o644, "scripts/main.py": 0o755, "references/nested.zip": 0o644, "references/a/b/c.md": 0o644, "bits.sh": 0o755,
	}
	dotted := []file{{name: "./", mode: fs.ModeDir | 0o755}}
	for _, f := range files {
		f.name = "./" + f.name
		dotted = append(dotted, f)
	}
	digests := map[string]bool{}
	for name, tt := range map[string]struct {
		kind, as string
		data     []byte
	}{
		"zip":               {Zip, "greet", zipped(t, files)},
		"zip in a folder":   {Zip, "greet", zipped(t, below("greet", files))},
		"zip of a Mac":      {Zip, "greet", zipped(t, append(below("greet", files), file{name: "__MACOSX/greet/._SKILL.md", text: "x"}))},
		"tar":               {TarGz, "greet", tarred(t, files)},
		"tar in a folder":   {TarGz, "greet", tarred(t, below("greet", files))},
		"tar with dots":     {TarGz, "greet", tarred(t, dotted)},
		"tar of git":        {TarGz, "greet", tarred(t, append([]file{{name: "pax_global_header", text: "x", kind: tar.TypeXGlobalHeader}}, files...))},
		"without a name":    {TarGz, "", tarred(t, files)},
		"in another folder": {TarGz, "", tarred(t, below("greet-main", files))},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			got, err := opened(t, dir).Install(context.Background(), tt.as, tt.kind, bytes.NewReader(tt.data), "")
			must(t, err)
			if got.Name != "greet" || got.Version != "v1" || !got.Current || got.Files != len(want) || len(got.Warnings) != 0 {
				t.Errorf("%+v", got)
			}
			digests[got.Digest] = true
			if diff := cmp.Diff(want, modes(t, filepath.Join(dir, "greet"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			lib, err := skills.Load([]skills.Source{skills.Dir(skills.SourceInstalled, dir)}, nil)
			must(t, err)
			if list := lib.List(); len(list) != 1 || list[0].Status != skills.Published || list[0].Bundle.Digest != got.Digest {
				t.Errorf("the library has %+v", list)
			}
			if l := left(t, dir); l != nil {
				t.Errorf("left: %q", l)
			}
		})
	}
	if len(digests) != 1 {
		t.Errorf("digests %v", digests)
	}
}

func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	got := map[string]fs.FileMode{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			got[path[len(dir)+1:]] = info.Mode()
		}
		return err
	}))
	return got
}

const zeros = 3 << 20

func many(n int, folder bool) []file {
	out := bundle("greet", "x")
	for i := range n {
		f := file{name: fmt.Sprintf("f%d", i)}
		if folder {
			f.name, f.mode = f.name+"/", fs.ModeDir|0o755
		}
		out = append(out, f)
	}
	return out
}

// hostile are archives that are refused, in both kinds, with the code of the finding.
func hostile() map[string]struct {
	files []file
	code  string
} {
	with := func(f ...file) []file { return bundle("greet", "x", f...) }
	deep := strings.Repeat("a/", maxLevels+1) + "x"
	return map[string]struct {
		files []file
		code  string
	}{
		"traversal":           {with(file{name: "../x"}), CodePath},
		"traversal inside":    {with(file{name: "a/../../x"}), CodePath},
		"absolute":            {with(file{name: "/etc/x"}), CodePath},
		"drive":               {with(file{name: "C:x"}), CodePath},
		"backslash":           {with(file{name: `a\..\x`}), CodePath},
		"escape":              {with(file{name: "a\x1b[31m"}), CodePath},
		"no UTF-8":            {with(file{name: "a\xff"}), CodePath},
		"line":                {with(file{name: "a\nb"}), CodePath},
		"empty part":          {with(file{name: "a//b"}), CodePath},
		"dot part":            {with(file{name: "a/./b"}), CodePath},
		"long name":           {with(file{name: strings.Repeat("a", maxPath+1)}), CodePath},
		"deep":                {with(file{name: deep}), CodePath},
		"hidden traversal":    {with(file{name: ".git/../../x"}), CodePath},
		"twice":               {with(file{name: "a"}, file{name: "a"}), CodeDuplicate},
		"case":                {with(file{name: "Read.md"}, file{name: "README.md"}, file{name: "readme.md"}), CodeDuplicate},
		"case of folders":     {with(file{name: "Scripts/x"}), CodeDuplicate},
		"case beyond ASCII":   {with(file{name: "ÄPFEL"}, file{name: "äpfel"}), CodeDuplicate},
		"file in a file":      {with(file{name: "a"}, file{name: "a/b"}), CodeDuplicate},
		"file for a folder":   {with(file{name: "scripts"}), CodeDuplicate},
		"symbolic link":       {with(file{name: "a", link: "/etc/passwd"}), CodeLink},
		"link for a folder":   {with(file{name: "a", link: ".."}, file{name: "a/b"}), CodeLink},
		"zeros":               {with(file{name: "a", text: strings.Repeat("\x00", zeros)}), CodeRatio},
		"hidden zeros":        {with(file{name: ".a", text: strings.Repeat("\x00", zeros)}), CodeRatio},
		"many files":          {many(maxFiles, false), CodeEntries},
		"many folders":        {many(maxFiles+1, true), CodeEntries},
		"nothing":             {nil, skills.CodeNoSkill},
		"no SKILL.md":         {[]file{{name: "README.md"}}, skills.CodeNoSkill},
		"small letters":       {[]file{{name: "skill.md", text: skillText("greet", "x")}}, skills.CodeNoSkill},
		"a folder SKILL.md":   {[]file{{name: "SKILL.md/x"}}, skills.CodeNoSkill},
		"two folders":         {append(below("greet", bundle("greet", "x")), file{name: "other/x"}), skills.CodeNoSkill},
		"another folder":      {below("other", bundle("greet", "x")), skills.CodeNoSkill},
		"only hidden":         {below(".greet", bundle("greet", "x")), skills.CodeNoSkill},
		"another name":        {bundle("other", "x"), skills.CodeNameDirMismatch},
		"no description":      {[]file{{name: "SKILL.md", text: "---\nname: greet\n---\n"}}, skills.CodeDescriptionRequired},
		"no frontmatter":      {[]file{{name: "SKILL.md", text: "# x\n"}}, skills.CodeFrontmatterMissing},
		"unknown key of ours": {with(file{name: "skill.yaml", text: "verson: 1\n"}), skills.CodeUnknownKey},
	}
}

// Whatever is wrong with an upload is told, and nothing of it stays.
func TestHostileUploads(t *testing.T) {
	kinds := map[string]func(testing.TB, []file) []byte{Zip: zipped, TarGz: tarred}
	for name, tt := range hostile() {
		for kind, archive := range kinds {
			t.Run(name+" "+kind, func(t *testing.T) { refused(t, kind, archive(t, tt.files), tt.code) })
		}
	}
	for kind, typ := range map[string]byte{"hard link": tar.TypeLink, "device": tar.TypeChar, "block": tar.TypeBlock, "pipe": tar.TypeFifo} {
		want := CodeSpecial
		if typ == tar.TypeLink {
			want = CodeLink
		}
		t.Run(kind, func(t *testing.T) {
			refused(t, TarGz, tarred(t, bundle("greet", "x", file{name: "a", kind: typ, link: "SKILL.md"})), want)
		})
	}
	t.Run("device zip", func(t *testing.T) {
		refused(t, Zip, zipped(t, bundle("greet", "x", file{name: "a", mode: fs.ModeDevice | 0o644})), CodeSpecial)
	})
	t.Run("NUL zip", func(t *testing.T) { refused(t, Zip, zipped(t, bundle("greet", "x", file{name: "a\x00b"})), CodePath) })
}

func refused(t *testing.T, kind string, data []byte, want string) {
	t.Helper()
	dir := t.TempDir()
	in := opened(t, dir)
	install(t, in, "greet", "Old.")
	before := files(t, dir)
	_, err := in.Install(context.Background(), "greet", kind, bytes.NewReader(data), "")
	var e *catalog.Error
	if !errors.As(err, &e) || len(e.Errors) == 0 || e.Errors[0].Code != want {
		t.Fatalf("%v %+v, want %s", err, e, want)
	}
	if e.Code != catalog.BundleInvalid && e.Code != catalog.SkillInvalid || strings.ContainsAny(err.Error(), "\x00\x1b\n") {
		t.Errorf("%q", err)
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(dir), "x")); err == nil {
		t.Error("something was written outside")
	}
}

// files are the contents of all files below a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for name := range modes(t, dir) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		got[name] = string(text)
	}
	return got
}

// The kind is what the archive says, and a damaged one is told as such.
func TestBrokenUploads(t *testing.T) {
	z, g := zipped(t, bundle("greet", "x")), tarred(t, bundle("greet", "x"))
	flip := func(b []byte, at int) []byte {
		out := bytes.Clone(b)
		out[at] ^= 0xff
		return out
	}
	encrypted := bytes.Clone(z)
	at := bytes.LastIndex(encrypted, []byte("PK\x01\x02"))
	encrypted[at+8] |= 1
	for name, tt := range map[string]struct {
		kind string
		data []byte
		code string
	}{
		"empty":            {Zip, nil, CodeKind},
		"text":             {TarGz, []byte("hello"), CodeKind},
		"zip as tar":       {TarGz, z, CodeKind},
		"tar as zip":       {Zip, g, CodeKind},
		"another kind":     {"rar", z, CodeKind},
		"half a zip":       {Zip, z[:len(z)/2], CodeBroken},
		"half a tar":       {TarGz, g[:len(g)/2], CodeBroken},
		"checksum":         {TarGz, flip(g, len(g)-6), CodeBroken},
		"content of a zip": {Zip, flip(z, 40+len("SKILL.md")), CodeBroken},
		"behind a tar":     {TarGz, append(bytes.Clone(g), "garbage"...), CodeBroken},
		"encrypted":        {Zip, encrypted, CodeEncrypted},
		"no tar in it":     {TarGz, gzipped(t, strings.Repeat("x", 2000)), CodeBroken},
	} {
		t.Run(name, func(t *testing.T) { refused(t, tt.kind, tt.data, tt.code) })
	}
	in := opened(t, t.TempDir())
	if _, err := in.Install(context.Background(), "greet", Zip, iotest.ErrReader(fs.ErrClosed), ""); !errors.Is(err, fs.ErrClosed) || code(err) != "" {
		t.Errorf("an upload that breaks off: %v", err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := in.Install(stopped, "greet", Zip, bytes.NewReader(z), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
	for _, name := range []string{"../x", "Greet", "a--b", strings.Repeat("a", 65)} {
		if _, err := in.Install(context.Background(), name, Zip, bytes.NewReader(z), ""); code(err) != string(catalog.ValidationError) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := in.Install(context.Background(), "", Zip, bytes.NewReader(zipped(t, []file{{name: "SKILL.md", text: skillText("A B", "x")}})), ""); code(err) != "SKILL_INVALID NAME_PATTERN" {
		t.Errorf("no name: %v", err)
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := newGzip(&b)
	_, err := w.Write([]byte(text))
	must(t, err)
	must(t, w.Close())
	return b.Bytes()
}

// What is larger than a bundle may be is refused, whatever its headers say.
func TestLargeUploads(t *testing.T) {
	noise := strings.Repeat("noise ", 1<<20/6)
	var list []file
	for i := range maxBytes/len(noise) + 1 {
		list = append(list, file{name: fmt.Sprint(i), text: noise})
	}
	refused(t, TarGz, tarredWith(t, newGzip, bundle("greet", "x", list...)), CodeSize)
	in := opened(t, t.TempDir())
	long := io.MultiReader(strings.NewReader("PK\x03\x04"), io.LimitReader(zeroes{}, maxPacked))
	if _, err := in.Install(context.Background(), "greet", Zip, long, ""); code(err) != "BUNDLE_INVALID "+CodeSize {
		t.Errorf("%v", err)
	}
	// The list of a zip file is bounded before it is read into memory.
	var names []file
	for i := range maxListing / 500 {
		names = append(names, file{name: fmt.Sprintf("%0500d", i)})
	}
	refused(t, Zip, zipped(t, names), CodeEntries)
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// What the format forbids and does no harm is a warning, with its place.
func TestWarnings(t *testing.T) {
	text := "---\nname: greet\ndescription: x\nargument-hint: FILE\nmetadata: {a: [b]}\n---\n"
	in := opened(t, t.TempDir())
	got, err := in.Install(context.Background(), "greet", Zip, bytes.NewReader(zipped(t, []file{{name: "SKILL.md", text: text}})), "")
	must(t, err)
	want := []catalog.Finding{
		{Code: skills.CodeUnknownTopLevelKey, Severity: "error", Message: "Unknown frontmatter field 'argument-hint'.", Path: "argument-hint", File: "SKILL.md", Line: 4, Column: 1},
		{Code: skills.CodeMetadataValue, Severity: "error", Message: "Field 'metadata' must be an object of string keys to string values.", Path: "metadata", File: "SKILL.md", Line: 5, Column: 15},
	}
	if diff := cmp.Diff(want, got.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
