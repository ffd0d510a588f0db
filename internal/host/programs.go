package host

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/hotcell/hotcell/internal/fileset"
	"github.com/hotcell/hotcell/internal/tools"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// Architectures are those that `make build` makes programs for.
func Architectures() []string { return []string{"amd64", "arm64"} }

// RunnerTrees returns the runner's tree for an engine's architecture. Each is read and hashed once.
func RunnerTrees(fsys fs.FS) func(arch string) (sandbox.Tree, error) { return once(fsys, RunnerTree) }

// EngineTrees returns the tree of the engine for agent and JavaScript skills, for an engine's architecture. Each is read
// and hashed once.
func EngineTrees(fsys fs.FS) func(arch string) (sandbox.Tree, error) { return once(fsys, engineTree) }

func once(fsys fs.FS, make func(fs.FS, string) (sandbox.Tree, error)) func(arch string) (sandbox.Tree, error) {
	read := map[string]func() (sandbox.Tree, error){}
	for _, arch := range Architectures() {
		read[arch] = sync.OnceValues(func() (sandbox.Tree, error) { return make(fsys, arch) })
	}
	return func(arch string) (sandbox.Tree, error) {
		if get, ok := read[arch]; ok {
			return get()
		}
		return make(fsys, arch)
	}
}

// RunnerTree returns the tree of the runner for an engine's architecture, from the files of fsys.
func RunnerTree(fsys fs.FS, arch string) (sandbox.Tree, error) {
	data, err := program(fsys, RunnerFile(arch), "runner", arch)
	if err != nil {
		return sandbox.Tree{}, err
	}
	runner := tree("runner", wall.DirRunner, data, int64(len(data)), inMemory(data))
	return withLibrary(runner), nil
}

// withLibrary adds the modules for skills to the runner's tree.
func withLibrary(t sandbox.Tree) sandbox.Tree {
	const mode = 0o644
	module := tools.Python()
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s %o %d\n", t.Digest, tools.PythonFile, mode, len(module))
	sum.Write(module)
	t.Digest = hex.EncodeToString(sum.Sum(nil))
	t.FS.(*fileset.Set).Add(tools.PythonFile, fileset.Entry{Size: int64(len(module)), Mode: mode, Open: inMemory(module)})
	return t
}

func inMemory(data []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

// engineTree is [RunnerTree] for the engine, which is kept compressed: most calls need none.
func engineTree(fsys fs.FS, arch string) (sandbox.Tree, error) {
	data, err := program(fsys, EngineFile(arch), "engine", arch)
	if err != nil {
		return sandbox.Tree{}, err
	}
	if len(data) < gzipTrailer {
		return sandbox.Tree{}, fmt.Errorf("the embedded engine for %s is damaged: build hotcell again with 'make build'", arch)
	}
	size := int64(binary.LittleEndian.Uint32(data[len(data)-gzipTrailer:]))
	return tree("engine", wall.DirEngine, data, size, func() (io.ReadCloser, error) { return gzip.NewReader(bytes.NewReader(data)) }), nil
}

// gzipTrailer is the end of a gzip stream: how many bytes come out of it.
const gzipTrailer = 4

func program(fsys fs.FS, file, what, arch string) ([]byte, error) {
	data, err := fs.ReadFile(fsys, file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, fmt.Errorf("this hotcell was built without its %s for %s: build it with 'make build'", what, arch)
	}
	return data, err
}

// tree is one program's tree. Its digest is that of the bytes that were embedded.
func tree(name, target string, data []byte, size int64, open func() (io.ReadCloser, error)) sandbox.Tree {
	const mode = 0o755
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %o %d\n", name, mode, size)
	sum.Write(data)
	files := fileset.New()
	files.Add(name, fileset.Entry{Size: size, Mode: mode, Open: open})
	return sandbox.Tree{Name: name, Digest: hex.EncodeToString(sum.Sum(nil)), Target: target, FS: files}
}

// RunnerFile and EngineFile are the names of the programs for an architecture; an engine's is compressed with gzip.
func RunnerFile(arch string) string { return "hotcell-runner-" + arch }

// EngineFile is described at [RunnerFile].
func EngineFile(arch string) string { return "hotcell-engine-" + arch + ".gz" }
