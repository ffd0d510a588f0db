package oci

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"
	"golang.org/x/sys/unix"
)

// cache holds folders by the digest of their content, which cells mount and nobody changes. They are made aside and get
// their names when they are complete.
type cache struct {
	dir   string
	fills singleflight.Group
	once  sync.Once
}

func newCache(dir string) *cache { return &cache{dir: dir} }

// kinds of folders.
const (
	kindTree   = "trees"
	kindCustom = "custom" // trees of custom skills
	kindRoot   = "roots"
)

func (c *cache) path(kind, key string) string { return filepath.Join(c.dir, kind, key) }

// hold keeps what is in the cache, and in use by cells, as it is until release. Exclusive, nobody else holds it.
func (c *cache) hold(exclusive bool) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(c.dir, "lock"), os.O_RDWR, 0) // the last that is made
	if errors.Is(err, fs.ErrNotExist) {
		if err = c.make(); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(filepath.Join(c.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	}
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return func() { _ = f.Close() }, nil // which unlocks
}

// make makes the cache's folders.
func (c *cache) make() error {
	for _, kind := range []string{kindTree, kindCustom, kindRoot, "tmp"} {
		if err := os.MkdirAll(filepath.Join(c.dir, kind), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// ensure returns a folder, filling it if it is not there. The caller holds the cache. Callers at the same time share one
// fill; another process's is as good as ours.
func (c *cache) ensure(kind, key string, fill func(dir string) error) (string, error) {
	final := c.path(kind, key)
	if _, err := os.Lstat(final); err == nil {
		return final, nil
	}
	_, err, _ := c.fills.Do(final, func() (any, error) {
		if _, err := os.Lstat(final); err == nil {
			return nil, nil
		}
		if err := c.make(); err != nil { // whatever was taken away
			return nil, err
		}
		tmp := filepath.Join(c.dir, "tmp", strings.ToLower(rand.Text()))
		defer func() { _ = os.RemoveAll(tmp) }() // not there after success
		if err := os.Mkdir(tmp, 0o755); err != nil {
			return nil, err
		}
		if err := os.Chmod(tmp, 0o755); err != nil { // whatever the umask
			return nil, err
		}
		if err := fill(tmp); err != nil {
			return nil, err
		}
		err := os.Rename(tmp, final)
		if errors.Is(err, fs.ErrExist) || errors.Is(err, unix.ENOTEMPTY) {
			err = nil
		}
		return nil, err
	})
	return final, err
}

// drop removes a folder that no cell uses. What is not there is removed.
func (c *cache) drop(kind, key string, inUse func(path string) (bool, error)) error {
	tmp := filepath.Join(c.dir, "tmp", strings.ToLower(rand.Text()))
	if err := c.setAside(c.path(kind, key), tmp, inUse); err != nil {
		return fmt.Errorf("remove %s %s: %w", strings.TrimSuffix(kind, "s"), key, err)
	}
	return os.RemoveAll(tmp) // while others go on
}

// setAside takes its name from a folder that no cell uses.
func (c *cache) setAside(path, tmp string, inUse func(path string) (bool, error)) error {
	release, err := c.hold(true)
	if err != nil {
		return err
	}
	defer release()
	used, err := inUse(path)
	switch {
	case err != nil:
		return err
	case used:
		return errInUse
	}
	if err := os.Rename(path, tmp); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// clear removes what fills that died left, unless somebody holds the cache: then a fill may live.
func (c *cache) clear() {
	c.once.Do(func() {
		f, err := os.OpenFile(filepath.Join(c.dir, "lock"), os.O_RDWR, 0)
		if err != nil {
			return
		}
		defer func() { _ = f.Close() }() // which unlocks
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			return
		}
		entries, _ := os.ReadDir(filepath.Join(c.dir, "tmp"))
		for _, e := range entries {
			_ = os.RemoveAll(filepath.Join(c.dir, "tmp", e.Name()))
		}
	})
}
