package install

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/catalog"
)

// file is an entry of an archive that a test makes.
type file struct {
	name, text string
	mode       fs.FileMode // 0: 0644
	link       string
	kind       byte // of a tar entry; 0: by mode
}

func skillText(name, about string) string {
	return "---\nname: " + name + "\ndescription: " + about + "\n---\nBody.\n"
}

// bundle is a skill with a script.
func bundle(name, about string, more ...file) []file {
	return append([]file{{name: "SKILL.md", text: skillText(name, about)}, {name: "scripts/main.py", text: "print(1)\n", mode: 0o755}}, more...)
}

// below puts files into a folder.
func below(folder string, files []file) []file {
	out := []file{{name: folder + "/", mode: fs.ModeDir | 0o755}}
	for _, f := range files {
		f.name = folder + "/" + f.name
		out = append(out, f)
	}
	return out
}

func zipped(t testing.TB, files []file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		mode, text := f.mode, f.text
		if mode == 0 {
			mode = 0o644
		}
		if f.link != "" {
			mode, text = fs.ModeSymlink|0o777, f.link
		}
		h.SetMode(mode)
		out, err := w.CreateHeader(h)
		must(t, err)
		_, err = out.Write([]byte(text))
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func tarred(t testing.TB, files []file) []byte {
	t.Helper()
	return tarredWith(t, gzip.NewWriter, files)
}

func tarredWith(t testing.TB, pack func(io.Writer) *gzip.Writer, files []file) []byte {
	t.Helper()
	var b bytes.Buffer
	z := pack(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.text)), Typeflag: tar.TypeReg, Linkname: f.link}
		if f.kind == tar.TypeXGlobalHeader {
			must(t, w.WriteHeader(&tar.Header{Typeflag: f.kind, PAXRecords: map[string]string{"comment": f.text}}))
			continue
		}
		switch {
		case f.kind != 0:
			h.Typeflag = f.kind
		case f.link != "":
			h.Typeflag = tar.TypeSymlink
		case f.mode.IsDir():
			h.Typeflag = tar.TypeDir
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		must(t, w.WriteHeader(h))
		_, err := w.Write([]byte(f.text))
		must(t, err)
	}
	must(t, w.Close())
	must(t, z.Close())
	return b.Bytes()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func opened(t testing.TB, dir string) *Installer {
	t.Helper()
	in, err := Open(context.Background(), dir, Options{})
	must(t, err)
	return in
}

func install(t testing.TB, in *Installer, name, about string) *catalog.Installed {
	t.Helper()
	got, err := in.Install(context.Background(), name, TarGz, bytes.NewReader(tarred(t, bundle(name, about))), "")
	must(t, err)
	return got
}

// code is the catalogue's code of an error, and that of its first finding.
func code(err error) string {
	var e *catalog.Error
	if !errors.As(err, &e) {
		return ""
	}
	if len(e.Errors) > 0 {
		return string(e.Code) + " " + e.Errors[0].Code
	}
	return string(e.Code)
}

// about is the description of what is published, "" where nothing is.
func about(t testing.TB, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name, "SKILL.md"))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "description: ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// left are the names in the folder of uploads on their way.
func left(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, ".staging"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
