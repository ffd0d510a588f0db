package host

import (
	"bufio"
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
	p, err := program(fsys, RunnerFile(arch), "runner", arch)
	if err != nil {
		return sandbox.Tree{}, err
	}
	runner, err := p.tree("runner", wall.DirRunner, p.size, p.open)
	return withLibrary(runner), err
}

// withLibrary adds the modules for skills to the runner's tree.
func withLibrary(t sandbox.Tree) sandbox.Tree {
	if t.FS == nil {
		return t
	}
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
	p, err := program(fsys, EngineFile(arch), "engine", arch)
	if err != nil {
		return sandbox.Tree{}, err
	}
	size, err := p.unpacked()
	if err != nil {
		return sandbox.Tree{}, fmt.Errorf("the embedded engine for %s is damaged: build hotcell again with 'make build'", arch)
	}
	return p.tree("engine", wall.DirEngine, size, p.unpack)
}

// gzipTrailer is the end of a gzip stream: how many bytes come out of it.
const gzipTrailer = 4

// embedded is a file that was built in. It is read where it lies: a copy would take as much memory again.
type embedded struct {
	open func() (io.ReadCloser, error)
	size int64
}

func program(fsys fs.FS, file, what, arch string) (embedded, error) {
	info, err := fs.Stat(fsys, file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return embedded{}, fmt.Errorf("this hotcell was built without its %s for %s: build it with 'make build'", what, arch)
	}
	if err != nil {
		return embedded{}, err
	}
	return embedded{func() (io.ReadCloser, error) { return fsys.Open(file) }, info.Size()}, nil
}

// unpacked is how many bytes come out of the file, which is compressed.
func (p embedded) unpacked() (int64, error) {
	f, err := p.open()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var end [gzipTrailer]byte
	if at, ok := f.(io.ReaderAt); ok {
		_, err = at.ReadAt(end[:], p.size-gzipTrailer)
	} else if _, err = io.CopyN(io.Discard, f, p.size-gzipTrailer); err == nil {
		_, err = io.ReadFull(f, end[:])
	}
	if p.size < gzipTrailer {
		err = io.ErrUnexpectedEOF
	}
	return int64(binary.LittleEndian.Uint32(end[:])), err
}

// unpack opens what is in the file.
func (p embedded) unpack() (io.ReadCloser, error) {
	f, err := p.open()
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(f, 64<<10))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// tree is one program's tree. Its digest is that of the bytes that were embedded.
func (p embedded) tree(name, target string, size int64, open func() (io.ReadCloser, error)) (sandbox.Tree, error) {
	const mode = 0o755
	f, err := p.open()
	if err != nil {
		return sandbox.Tree{}, err
	}
	defer f.Close()
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %o %d\n", name, mode, size)
	if _, err := io.Copy(sum, f); err != nil {
		return sandbox.Tree{}, err
	}
	files := fileset.New()
	files.Add(name, fileset.Entry{Size: size, Mode: mode, Open: open})
	return sandbox.Tree{Name: name, Digest: hex.EncodeToString(sum.Sum(nil)), Target: target, FS: files}, nil
}

// RunnerFile and EngineFile are the names of the programs for an architecture; an engine's is compressed with gzip.
func RunnerFile(arch string) string { return "hotcell-runner-" + arch }

// EngineFile is described at [RunnerFile].
func EngineFile(arch string) string { return "hotcell-engine-" + arch + ".gz" }
