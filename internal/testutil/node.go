package testutil

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// nodeLock names the versions of the clients for Node, from the module's root.
const nodeLock = "integration/doors/node/package-lock.json"

// NodeClients is the folder that scripts/node-clients makes: bin/node, and node_modules with the official clients.
func NodeClients(t testing.TB) string {
	t.Helper()
	folder, err := nodeClients()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// BesideNodeModules copies a script to where it finds the modules of that folder, and returns its path.
func BesideNodeModules(t testing.TB, folder, script string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(script)
	if err == nil {
		err = os.Symlink(filepath.Join(folder, "node_modules"), filepath.Join(dir, "node_modules"))
	}
	path := filepath.Join(dir, filepath.Base(script))
	if err = errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func haveNodeClients(context.Context) error {
	_, err := nodeClients()
	return err
}

func nodeClients() (string, error) {
	folder, err := cached("node-clients", nodeLock)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(folder, "bin", "node")); err != nil {
		return "", fmt.Errorf("the clients for Node are not there (%w): run scripts/node-clients", err)
	}
	return folder, nil
}

// cached is the folder of this user's cache where a script keeps what a lock file names.
func cached(name, lock string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, lock))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return filepath.Join(cache, "hotcell", name+"-"+hex.EncodeToString(sum[:8])), nil
}

// moduleRoot is the folder of go.mod above the test's own.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, gone := os.Stat(filepath.Join(dir, "go.mod")); gone == nil {
			return dir, nil
		} else if !errors.Is(gone, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above the test: %w", gone)
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
