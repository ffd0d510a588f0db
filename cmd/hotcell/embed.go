package main

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// embedded holds what `make build` put there: hotcell-runner-amd64 and hotcell-runner-arm64. A plain `go build` leaves
// it empty, and such a hotcell says so when it needs a runner.
//
//go:embed all:embed
var embedded embed.FS

// architectures are those that `make build` makes a runner for.
func architectures() []string { return []string{"amd64", "arm64"} }

// runnerTrees is [runnerTree] for many calls: each tree is read and hashed once.
func runnerTrees(fsys fs.FS) func(arch string) (sandbox.Tree, error) {
	read := map[string]func() (sandbox.Tree, error){}
	for _, arch := range architectures() {
		read[arch] = sync.OnceValues(func() (sandbox.Tree, error) { return runnerTree(fsys, arch) })
	}
	return func(arch string) (sandbox.Tree, error) {
		if once, ok := read[arch]; ok {
			return once()
		}
		return runnerTree(fsys, arch)
	}
}

// runnerTree returns the tree of the runner for an engine's architecture, from the files of fsys.
func runnerTree(fsys fs.FS, arch string) (sandbox.Tree, error) {
	data, err := fs.ReadFile(fsys, runnerFile(arch))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return sandbox.Tree{}, fmt.Errorf("this hotcell was built without its runner for %s: build it with 'make build'", arch)
	}
	if err != nil {
		return sandbox.Tree{}, err
	}
	const name, mode = "runner", 0o755
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %o %d\n", name, mode, len(data))
	sum.Write(data)
	files := newFileset()
	files.add(name, entry{size: int64(len(data)), mode: mode, open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}})
	return sandbox.Tree{Name: name, Digest: hex.EncodeToString(sum.Sum(nil)), Target: wall.DirRunner, FS: files}, nil
}

func runnerFile(arch string) string { return path.Join("embed", "hotcell-runner-"+arch) }
