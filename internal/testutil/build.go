package testutil

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// EnvPrebuilt names the environment variable with a folder of programs that were built before, each under the last word of
// its package's path. Where it is set, tests need no Go: on a machine that is there for the tests alone.
const EnvPrebuilt = "HOTCELL_PREBUILT"

// binaries holds what this process has built and who still uses it.
var binaries = struct {
	sync.Mutex
	built map[string]*binary
}{built: map[string]*binary{}}

type binary struct {
	once  sync.Once
	dir   string
	path  string
	err   error
	users int
}

// GoBuild builds a static program and returns its path. pkg is an import path, or a relative one that starts with "./"
// or "../"; env adds KEY=VALUE entries such as GOARCH=arm64. Tests that run at the same time, subtests above all, share
// one build; it is deleted when the last of them has ended.
func GoBuild(t testing.TB, pkg string, env ...string) string {
	t.Helper()
	if dir := os.Getenv(EnvPrebuilt); dir != "" {
		return filepath.Join(dir, filepath.Base(pkg))
	}
	key := strings.Join(append([]string{pkg}, env...), "\x00")
	b := acquire(key)
	t.Cleanup(func() { release(t, key) })
	b.once.Do(func() { b.build(pkg, env) })
	if b.err != nil {
		t.Fatalf("go build %s: %v", pkg, b.err)
	}
	return b.path
}

// GoBuildForAll is [GoBuild] for what outlives one test: TestMain ends it with done.
func GoBuildForAll(pkg string) (path string, done func() error, err error) {
	if dir := os.Getenv(EnvPrebuilt); dir != "" {
		return filepath.Join(dir, filepath.Base(pkg)), func() error { return nil }, nil
	}
	b := &binary{}
	b.build(pkg, nil)
	done = func() error { return os.RemoveAll(b.dir) }
	if b.err != nil {
		return "", nil, errors.Join(fmt.Errorf("go build %s: %w", pkg, b.err), done())
	}
	return b.path, done, nil
}

func acquire(key string) *binary {
	binaries.Lock()
	defer binaries.Unlock()
	b := binaries.built[key]
	if b == nil {
		b = &binary{}
		binaries.built[key] = b
	}
	b.users++
	return b
}

func release(t testing.TB, key string) {
	binaries.Lock()
	defer binaries.Unlock()
	b := binaries.built[key]
	if b.users--; b.users > 0 {
		return
	}
	delete(binaries.built, key)
	if b.dir == "" {
		return
	}
	if err := os.RemoveAll(b.dir); err != nil {
		t.Errorf("built program: %v", err)
	}
}

func (b *binary) build(pkg string, env []string) {
	if b.dir, b.err = os.MkdirTemp("", "hotcell-test-"); b.err != nil {
		return
	}
	b.path = filepath.Join(b.dir, "program")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", b.path, pkg)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.err = fmt.Errorf("%w\n%s", err, out)
	}
}
