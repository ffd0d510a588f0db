package host

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/hotcell/hotcell/internal/tools"
)

func TestRunnerTree(t *testing.T) {
	fsys := fstest.MapFS{"hotcell-runner-amd64": {Data: []byte("ELF")}, ".gitkeep": {}}
	tree, err := RunnerTree(fsys, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	if tree.Name != "runner" || tree.Target != "/hotcell" || len(tree.Digest) != 64 {
		t.Errorf("tree = %+v", tree)
	}
	info, err := tree.FS.Open("runner")
	if err != nil {
		t.Fatal(err)
	}
	st, _ := info.Stat()
	if st.Mode() != 0o755 || st.Size() != 3 {
		t.Errorf("mode %v and %d bytes, want 0755 and 3", st.Mode(), st.Size())
	}
	if module, err := fs.ReadFile(tree.FS, "lib/hotcell.py"); err != nil || !bytes.Equal(module, tools.Python()) {
		t.Errorf("the module for skills: %d bytes, %v", len(module), err)
	}
	other, _ := RunnerTree(fstest.MapFS{"hotcell-runner-amd64": {Data: []byte("ELG")}}, "amd64")
	if other.Digest == tree.Digest {
		t.Error("two runners have one digest")
	}
	for _, arch := range []string{"arm64", "", "../x", "riscv64"} {
		_, err := RunnerTree(fsys, arch)
		want := "this hotcell was built without its runner for " + arch + ": build it with 'make build'"
		if err == nil || err.Error() != want {
			t.Errorf("%q: error = %v, want %q", arch, err, want)
		}
	}
}

func TestEngineTree(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, "ELF engine"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	trees := EngineTrees(fstest.MapFS{"hotcell-engine-amd64.gz": {Data: packed.Bytes()}, "hotcell-engine-arm64.gz": {Data: []byte("x")}})
	tree, err := trees("amd64")
	if err != nil {
		t.Fatal(err)
	}
	if tree.Name != "engine" || tree.Target != "/hotcell-engine" || len(tree.Digest) != 64 {
		t.Errorf("tree = %+v", tree)
	}
	data, err := fs.ReadFile(tree.FS, "engine")
	if err != nil || string(data) != "ELF engine" {
		t.Errorf("holds %q, %v", data, err)
	}
	if info, err := fs.Stat(tree.FS, "engine"); err != nil || info.Mode() != 0o755 || info.Size() != 10 {
		t.Errorf("stat: %v, %v", info, err)
	}
	for arch, want := range map[string]string{
		"arm64":   "the embedded engine for arm64 is damaged: build hotcell again with 'make build'",
		"riscv64": "this hotcell was built without its engine for riscv64: build it with 'make build'",
	} {
		if _, err := trees(arch); err == nil || err.Error() != want {
			t.Errorf("%s: error = %v, want %q", arch, err, want)
		}
	}
}
