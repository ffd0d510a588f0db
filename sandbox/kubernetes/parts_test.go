package kubernetes

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/internal/gate"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// planted: ConfigMaps that have a tree's name and not its content are nobody's bundle and nobody's runner.
func (r *real) planted(t *testing.T) {
	built := runnerTree(t)
	evil := fstest.MapFS{"a": {Data: []byte("evil"), Mode: 0o644}}
	packed, err := pack(sandbox.Tree{FS: evil})
	if err != nil {
		t.Fatal(err)
	}
	archive := map[string][]byte{partKey(0): packed[0]}
	file := map[string][]byte{"f0000": []byte("evil")}
	for what, plant := range map[string]func(tree, runner sandbox.Tree) *corev1.ConfigMap{
		"another archive": func(tree, _ sandbox.Tree) *corev1.ConfigMap { return part(tree, treeName(tree), 0, 1, archive) },
		"one of a digest alike": func(tree, _ sandbox.Tree) *corev1.ConfigMap {
			other := tree
			other.Digest = tree.Digest[:16] + strings.Repeat("f", 48)
			return part(other, treeName(tree), 0, 1, archive)
		},
		"parts without end": func(tree, _ sandbox.Tree) *corev1.ConfigMap { return part(tree, treeName(tree), 0, 1000, archive) },
		"one that can be changed": func(tree, _ sandbox.Tree) *corev1.ConfigMap {
			m := part(tree, treeName(tree), 0, 1, archive)
			m.Immutable = nil
			return m
		},
		"other files": func(tree, _ sandbox.Tree) *corev1.ConfigMap { return part(tree, plainName(tree, "amd64"), 0, 1, file) },
		"another loader": func(_, runner sandbox.Tree) *corev1.ConfigMap {
			return part(runner, plainName(runner, "amd64"), 0, 1, file)
		},
	} {
		t.Run(what, func(t *testing.T) {
			text := fmt.Sprintf("%x", sha256.Sum256([]byte(rand.Text())))
			tree := sandbox.Tree{Name: "test", Digest: text, Target: "/skill", FS: fstest.MapFS{"a": {Data: []byte("text"), Mode: 0o644}}}
			runner := built
			runner.Digest = text
			is := plant(tree, runner)
			loads := strings.HasSuffix(is.Name, "-files-0")
			if loads && gate.Loader(runtime.GOARCH) == nil {
				t.Skip("there is no loader for " + runtime.GOARCH)
			}
			object, err := json.Marshal(is)
			if err != nil {
				t.Fatal(err)
			}
			testutil.Kubectl(t, string(object), "-n", r.namespace, "create", "-f", "-")
			spec := r.spec("read", "/skill/a")
			spec.Trees = []sandbox.Tree{tree}
			if loads {
				spec.Trees = append(spec.Trees, runner)
			}
			d := r.driver(t)
			fails(t, d, spec, sandbox.ErrUnavailable, "is not what hotcell makes", "in namespace "+r.namespace)
			testutil.Kubectl(t, "", "-n", r.namespace, "delete", "configmap", is.Name) // as the error says
			if out := r.output(t, d, spec); out != "text" {
				t.Errorf("afterwards its tree has %q", out)
			}
		})
	}
}

// An archive that another version of gzip has made is the same tree; one of other files is not, nor are entries beside it.
func TestSameArchive(t *testing.T) {
	tree := sandbox.Tree{FS: fstest.MapFS{"a": {Data: bytes.Repeat([]byte("text"), 30<<10), Mode: 0o644}}}
	packed, err := pack(tree)
	if err != nil || len(packed) != 1 {
		t.Fatal(len(packed), err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed[0]))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	zw, err := gzip.NewWriterLevel(&again, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(zw, zr); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	of := func(parts ...[]byte) (all []map[string][]byte) {
		for i, p := range parts {
			all = append(all, map[string][]byte{partKey(i): p})
		}
		return all
	}
	half := again.Len() / 2
	more := of(again.Bytes())
	more[0]["0001"] = []byte("x")
	for name, tt := range map[string]struct {
		is   []map[string][]byte
		same bool
	}{
		"the same": {of(packed[0]), true}, "packed in another way": {of(again.Bytes()), true}, "in two parts": {of(again.Bytes()[:half], again.Bytes()[half:]), true},
		"half of it": {of(again.Bytes()[:half]), false}, "nothing": {of(), false}, "no archive": {of([]byte("evil")), false}, "one entry more": {more, false},
		"another after it": {of(again.Bytes(), again.Bytes()), false},
	} {
		if sameArchive(tt.is, of(packed[0])) != tt.same {
			t.Errorf("%s: want %v", name, tt.same)
		}
	}
}

// The ConfigMaps of a runner's tree are those of one loader, which the runner's digest does not know of.
func TestNamesOfFiles(t *testing.T) {
	tree := sandbox.Tree{Name: "runner", Digest: strings.Repeat("a", 64), Target: wall.DirRunner}
	if plainName(tree, "amd64") == plainName(tree, "arm64") {
		t.Error("two loaders have one name")
	}
}
