package layout

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// file is one entry of a layer: a regular file unless kind says otherwise.
type file struct {
	name, data string
	kind       byte
	mode       int64
	link       string
}

func tarOf(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Typeflag: f.kind, Mode: f.mode, Linkname: f.link, Size: int64(len(f.data)), Uid: 1234}
		if f.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if f.mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// config is an image's configuration for layers.
func config(t testing.TB, layers ...[]byte) []byte {
	t.Helper()
	var ids []string
	for _, l := range layers {
		ids = append(ids, "sha256:"+digest(l))
	}
	return jsonOf(t, map[string]any{
		"os": "linux", "architecture": runtime.GOARCH,
		"config": map[string]any{
			"Env": []string{"A=b"}, "Entrypoint": []string{"/bin/x"}, "Cmd": []string{"y"}, "User": "root",
			"Volumes": map[string]any{"/data/": map[string]any{}, "/a": map[string]any{}},
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": ids},
	})
}

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// saved is what docker save writes.
func saved(t testing.TB, ref string, conf []byte, layers ...[]byte) []byte {
	t.Helper()
	var files []file
	var names []string
	for _, l := range layers {
		names = append(names, digest(l)+"/layer.tar")
		files = append(files, file{name: digest(l) + "/layer.tar", data: string(l)})
	}
	m := map[string]any{"Config": "c.json", "Layers": names}
	if ref != "" {
		m["RepoTags"] = []string{ref}
	}
	return tarOf(t, append(files, file{name: "c.json", data: string(conf)}, file{name: "manifest.json", data: string(jsonOf(t, []any{m}))})...)
}

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := New(Options{Dir: filepath.Join(t.TempDir(), "images")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unpacked imports layers as one image and returns its tree.
func unpacked(t testing.TB, s *Store, layers ...[]byte) (string, error) {
	t.Helper()
	imgs, err := s.Import(t.Context(), bytes.NewReader(saved(t, "test/image:1", config(t, layers...), layers...)), "")
	if err != nil {
		return "", err
	}
	return s.Rootfs(imgs[0].ID)
}

// listing describes a tree: path, mode and content or target, a line each.
func listing(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		what := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what = " " + string(data)
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			b.WriteString(rel + " -> " + target + "\n")
			return nil
		}
		b.WriteString(rel + " " + info.Mode().String() + what + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
