package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/testutil"
)

// savedImage is an archive of an image with one file, as docker save writes it.
func savedImage(t *testing.T, ref string) []byte {
	t.Helper()
	layer := tarred(t, "hello", []byte("x"))
	sum := sha256.Sum256(layer)
	conf, err := json.Marshal(map[string]any{
		"os": "linux", "architecture": runtime.GOARCH,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := json.Marshal([]any{map[string]any{"Config": "c.json", "RepoTags": []string{ref}, "Layers": []string{"l.tar"}}})
	if err != nil {
		t.Fatal(err)
	}
	return tarred(t, "c.json", conf, "manifest.json", manifest, "l.tar", layer)
}

// tarred is an archive of names and contents in turn.
func tarred(t *testing.T, parts ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		data := parts[i+1].([]byte)
		if err := w.WriteHeader(&tar.Header{Name: parts[i].(string), Mode: 0o644, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestImages(t *testing.T) {
	archive := savedImage(t, "test/image:1")
	b := newBench(t, succeed(nil, ""))
	dir := t.TempDir()
	b.app.stdin = bytes.NewReader(archive)
	if code := b.run("images", "import", "-", "--data-dir", dir); code != exitOK || !strings.HasPrefix(b.out.String(), "test/image:1  sha256:") {
		t.Fatalf("import: exit %d, %q, %q", code, b.out.String(), b.err.String())
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(file, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := b.run("images", "import", file, "--ref", "other:2", "--data-dir", dir); code != exitOK {
		t.Fatalf("import with a name: exit %d, %q", code, b.err.String())
	}
	b.out.Reset()
	if code := b.run("images", "list", "--data-dir", dir); code != exitOK || !strings.Contains(b.out.String(), "\ntest/image:1  ") || !strings.Contains(b.out.String(), "\nother:2 ") {
		t.Errorf("list: exit %d, %q", code, b.out.String())
	}
	b.out.Reset()
	var rows []struct{ Ref, ID string }
	if code := b.run("images", "list", "--json", "--data-dir", dir); code != exitOK || json.Unmarshal(b.out.Bytes(), &rows) != nil || len(rows) != 2 {
		t.Errorf("list --json: exit %d, %q", code, b.out.String())
	}
	if code := b.run("images", "remove", "other:2", "--data-dir", dir); code != exitOK || b.err.Len() > 0 {
		t.Errorf("remove: exit %d, %q", code, b.err.String())
	}
	if code := b.run("images", "remove", "other:2", "--data-dir", dir); code != exitUsage || !strings.Contains(b.err.String(), `no image has the name "other:2"`) {
		t.Errorf("remove again: exit %d, %q", code, b.err.String())
	}
}

func TestImagesRefused(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text.txt")
	if err := os.WriteFile(text, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args  []string
		stdin string
		code  int
		want  string
	}{
		"nothing":    {[]string{"-"}, "", exitUsage, "nothing on stdin: expected an archive"},
		"noise":      {[]string{"-"}, strings.Repeat("x", 1000), exitFailed, "not an image archive"},
		"a text":     {[]string{text}, "", exitFailed, "hotcell: " + text + ": not an image archive"},
		"no file":    {[]string{"/nowhere/x.tar"}, "", exitUsage, "/nowhere/x.tar"},
		"a folder":   {[]string{folder}, "", exitUsage, "is a folder: expected an archive"},
		"no name":    {nil, "", exitUsage, "expected FILE"},
		"wrong name": {[]string{"-", "--ref", "A B"}, string(savedImage(t, "a:1")), exitFailed, "expected a reference like name:tag"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, succeed(nil, ""))
			b.app.stdin = strings.NewReader(tt.stdin)
			code := b.run(append([]string{"images", "import", "--data-dir", t.TempDir()}, tt.args...)...)
			if code != tt.code || !strings.Contains(b.err.String(), tt.want) || strings.Count(b.err.String(), "\n") != 1 {
				t.Errorf("exit %d, %q", code, b.err.String())
			}
		})
	}
}

// TestMakers: which driver makes cells.
func TestMakers(t *testing.T) {
	testutil.Require(t, "root")
	testutil.Require(t, "runc")
	t.Setenv("DOCKER_HOST", "unix:///nowhere.sock")
	for name, tt := range map[string]struct {
		driver   string
		imported bool
		want     string
		says     string
	}{
		"no engine":                  {"auto", true, "oci", "because=\"no engine answers at unix:///nowhere.sock"},
		"no engine, and no image":    {"auto", false, "docker", ""},
		"no engine, docker by name":  {"docker", true, "docker", ""},
		"oci by name":                {"oci", false, "oci", ""},
		"oci with a relative folder": {"oci", false, "oci", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default(true, "", "")
			cfg.DataDir, cfg.Sandbox.Driver = t.TempDir(), tt.driver
			if strings.Contains(name, "relative") {
				t.Chdir(cfg.DataDir)
				cfg.DataDir = "data"
			}
			if tt.imported {
				store, err := host.Imported(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := store.Import(t.Context(), bytes.NewReader(savedImage(t, "a:1")), ""); err != nil {
					t.Fatal(err)
				}
			}
			var said bytes.Buffer
			m, err := host.Makers(t.Context(), cfg, "test-makers", slog.New(slog.NewTextHandler(&said, nil)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Driver.Name(); got != tt.want || !strings.Contains(said.String(), tt.says) || (tt.says == "") != (said.Len() == 0) {
				t.Errorf("%s, and it said %q", got, said.String())
			}
			if m.CloseImages != nil {
				if err := m.CloseImages(); err != nil {
					t.Error(err)
				}
			}
			if err := m.Driver.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
