package layout

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hotcell/hotcell/images"
)

func TestResolve(t *testing.T) {
	s := newStore(t)
	layer := tarOf(t, file{name: "a", data: "1"})
	conf := config(t, layer)
	id := "sha256:" + digest(conf)
	var unavailable *images.UnavailableError
	if _, err := s.Resolve(t.Context(), "test/image:1", images.PullMissing); !errors.As(err, &unavailable) ||
		!strings.Contains(err.Error(), "docker save test/image:1 | hotcell images import -") {
		t.Errorf("before the import: %v", err)
	}
	if _, err := s.Import(t.Context(), bytes.NewReader(saved(t, "test/image:1", conf, layer)), ""); err != nil {
		t.Fatal(err)
	}
	want := images.Image{
		ID: id, OS: "linux", Arch: "amd64", Env: []string{"A=b"}, Entrypoint: []string{"/bin/x"}, Cmd: []string{"y"},
		Volumes: []string{"/a", "/data"}, User: "root",
	}
	for _, ref := range []string{"test/image:1", "docker.io/test/image:1", id} {
		got, err := s.Resolve(t.Context(), ref, images.PullMissing)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
		}
		want.Ref, want.Arch = ref, got.Arch
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(images.Image{}, "Size", "Created")); diff != "" {
			t.Error(diff)
		}
	}
	for ref, pull := range map[string]images.PullPolicy{
		"test/image": images.PullNever, "test/image:1": images.PullAlways, "": images.PullMissing,
		"sha256:" + strings.Repeat("0", 64): images.PullMissing, "../../etc": images.PullMissing,
	} {
		if _, err := s.Resolve(t.Context(), ref, pull); !errors.As(err, &unavailable) || unavailable.Retryable {
			t.Errorf("%s with %s: %v", ref, pull, err)
		}
	}
	if _, err := s.Rootfs("sha256:../../../etc"); err == nil {
		t.Error("a tree by a path")
	}
}

// TestMovedTag: an image goes with its last name, and is unpacked once.
func TestMovedTag(t *testing.T) {
	s := newStore(t)
	imports := func(ref, data string) images.Image {
		layer := tarOf(t, file{name: "a", data: data})
		all, err := s.Import(t.Context(), bytes.NewReader(saved(t, ref, config(t, layer), layer)), "")
		if err != nil {
			t.Fatal(err)
		}
		return all[0]
	}
	first := imports("test/a:1", "1")
	root, err := s.Rootfs(first.ID)
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(root, "mark")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if same := imports("test/b:1", "1"); same.ID != first.ID {
		t.Errorf("ids %s and %s", first.ID, same.ID)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("unpacked twice: %v", err)
	}
	imports("test/a:1", "2")
	imports("test/b:1", "2")
	if _, err := s.Rootfs(first.ID); err == nil {
		t.Error("an image without a name is still there")
	}
	all, err := s.List(t.Context())
	if err != nil || len(all) != 2 || all[0].Ref != "test/a:1" || all[1].Ref != "test/b:1" {
		t.Errorf("list: %+v, %v", all, err)
	}
}

// An image goes with its last name, and its reference by digest with it.
func TestRemove(t *testing.T) {
	s := newStore(t)
	if err := s.Remove(t.Context(), "test/a:1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("from nothing: %v", err)
	}
	var img images.Image
	layer := tarOf(t, file{name: "a", data: "1"})
	for _, ref := range []string{"test/a:1", "test/b:1"} {
		all, err := s.Import(t.Context(), bytes.NewReader(saved(t, ref, config(t, layer), layer)), "")
		if err != nil {
			t.Fatal(err)
		}
		img = all[0]
	}
	for _, ref := range []string{"test/c:1", "a b", img.ID} {
		if err := s.Remove(t.Context(), ref); err == nil {
			t.Errorf("%s was removed", ref)
		}
	}
	if err := s.Remove(t.Context(), "docker.io/test/a:1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rootfs(img.ID); err != nil {
		t.Errorf("gone, though it has another name: %v", err)
	}
	if err := s.Remove(t.Context(), "test/b:1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rootfs(img.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	if all, err := s.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("list: %+v, %v", all, err)
	}
}

// TestOCIArchive: the layout of OCI, with gzip, one platform of several, named by the caller or by itself.
func TestOCIArchive(t *testing.T) {
	layer := tarOf(t, file{name: "a", data: "1"})
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(layer)
	_ = z.Close()
	conf := config(t, layer)
	blob := func(kind string, data []byte) map[string]any {
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": "sha256:" + digest(data), "size": len(data)}
	}
	manifest := jsonOf(t, map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": blob("config.v1+json", conf), "layers": []any{blob("layer.v1.tar+gzip", zipped.Bytes())}})
	other := map[string]any{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "sha256:" + strings.Repeat("0", 64), "size": 1,
		"platform": map[string]any{"os": "unknown", "architecture": "unknown"}}
	build := func(annotations map[string]string) []byte {
		d := blob("manifest.v1+json", manifest)
		d["annotations"] = annotations
		files := []file{
			{name: "oci-layout", data: `{"imageLayoutVersion":"1.0.0"}`},
			{name: "index.json", data: string(jsonOf(t, map[string]any{"schemaVersion": 2, "manifests": []any{other, d}}))},
		}
		for _, b := range [][]byte{conf, manifest, zipped.Bytes()} {
			files = append(files, file{name: "blobs/sha256/" + digest(b), data: string(b)})
		}
		return tarOf(t, files...)
	}
	s := newStore(t)
	if _, err := s.Import(t.Context(), bytes.NewReader(build(map[string]string{"org.opencontainers.image.ref.name": "1"})), ""); err == nil || !strings.Contains(err.Error(), "--ref") {
		t.Errorf("a tag alone: %v", err)
	}
	if _, err := s.Import(t.Context(), bytes.NewReader(build(nil)), "named/here:1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), bytes.NewReader(build(map[string]string{"org.opencontainers.image.ref.name": "named/itself:1"})), ""); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"named/here:1", "named/itself:1", "named/here@sha256:" + digest(manifest)} {
		img, err := s.Resolve(t.Context(), ref, images.PullMissing)
		if err != nil || img.ID != "sha256:"+digest(conf) {
			t.Errorf("%s: %+v, %v", ref, img, err)
		}
	}
	root, err := s.Rootfs("sha256:" + digest(conf))
	if err != nil {
		t.Fatal(err)
	}
	if got := listing(t, root); got != "a -rw-r--r-- 1\n" {
		t.Errorf("tree: %s", got)
	}
}

// TestLeftovers: what an import that died left is cleared by the next, which waits for one that lives.
func TestLeftovers(t *testing.T) {
	s := newStore(t)
	unlock, err := s.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dead := s.path("tmp", "rootfs-dead")
	if err := os.MkdirAll(filepath.Join(dead, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Import(ctx, strings.NewReader(""), ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("import beside another: %v", err)
	}
	unlock()
	if _, err := unpacked(t, s, tarOf(t, file{name: "a"})); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); err == nil {
		t.Error("the leftover is still there")
	}
}
